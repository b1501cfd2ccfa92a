import { Module } from '@nestjs/common';
import { BotVisibilityRepository } from './bot-visibility.repository';

@Module({
  providers: [BotVisibilityRepository],
  exports: [BotVisibilityRepository],
})
export class BotVisibilityModule {}
