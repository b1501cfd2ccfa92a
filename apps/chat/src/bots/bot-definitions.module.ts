import { Module } from '@nestjs/common';
import { BotDefinitionsCache } from './bot-definitions.cache';

@Module({
  providers: [BotDefinitionsCache],
  exports: [BotDefinitionsCache],
})
export class BotDefinitionsModule {}
