import { Module } from '@nestjs/common';
import { BotVisibilityController } from './bot-visibility.controller';
import { BotVisibilityRepository } from './bot-visibility.repository';
import { BotVisibilityService } from './bot-visibility.service';

@Module({
  controllers: [BotVisibilityController],
  providers: [BotVisibilityRepository, BotVisibilityService],
  exports: [BotVisibilityRepository, BotVisibilityService],
})
export class BotVisibilityModule {}
