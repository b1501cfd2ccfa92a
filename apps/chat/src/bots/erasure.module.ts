import { Module } from '@nestjs/common';
import { SignalsModule } from '../signals/signals.module';
import { TagsModule } from '../tags/tags.module';
import { EraseBotHandler } from './erase-bot.handler';
import { ErasureController } from './erasure.controller';
import { ErasureRepository } from './erasure.repository';
import { ErasureService } from './erasure.service';

@Module({
  imports: [SignalsModule, TagsModule],
  controllers: [ErasureController, EraseBotHandler],
  providers: [ErasureService, ErasureRepository],
})
export class ErasureModule {}
