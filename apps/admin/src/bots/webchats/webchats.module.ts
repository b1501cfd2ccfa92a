import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../../people/audit/audit.module';
import { BotVisibilityModule } from '../bot-visibility/bot-visibility.module';
import { WebchatSettingsEntity } from './webchat-settings.entity';
import { WebchatsController } from './webchats.controller';
import { WebchatsRepository } from './webchats.repository';
import { WebchatsService } from './webchats.service';

@Module({
  imports: [AuditModule, BotVisibilityModule, TypeOrmModule.forFeature([WebchatSettingsEntity])],
  controllers: [WebchatsController],
  providers: [WebchatsService, WebchatsRepository],
})
export class WebchatsModule {}
