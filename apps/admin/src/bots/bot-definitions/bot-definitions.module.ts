import { Module } from '@nestjs/common';
import { BotDefinitionsController } from './bot-definitions.controller';
import { BotDefinitionsRepository } from './bot-definitions.repository';
import { BotDefinitionsService } from './bot-definitions.service';

@Module({
  controllers: [BotDefinitionsController],
  providers: [BotDefinitionsService, BotDefinitionsRepository],
})
export class BotDefinitionsModule {}
