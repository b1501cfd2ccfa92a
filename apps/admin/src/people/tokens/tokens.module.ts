import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module';
import { BotVisibilityModule } from '../../bots/bot-visibility/bot-visibility.module';
import { TokenEntity } from './token.entity';
import { TokensController } from './tokens.controller';
import { TokensRepository } from './tokens.repository';
import { TokensService } from './tokens.service';

@Module({
  imports: [AuditModule, BotVisibilityModule, TypeOrmModule.forFeature([TokenEntity])],
  controllers: [TokensController],
  providers: [TokensService, TokensRepository],
  exports: [TokensService, TokensRepository],
})
export class TokensModule {}
