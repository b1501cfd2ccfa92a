import { Module } from '@nestjs/common';
import { BotCodeModule } from '../bot-code/bot-code.module';
import { UsageModule } from '../usage/usage.module';
import { ActionTargetsRepository } from './action-targets.repository';
import { ActionTargetsService } from './action-targets.service';
import { BotTargetsController } from './bot-targets.controller';
import { BotTargetsRepository } from './bot-targets.repository';
import { BotTargetsService } from './bot-targets.service';

@Module({
  imports: [BotCodeModule, UsageModule],
  controllers: [BotTargetsController],
  providers: [BotTargetsService, BotTargetsRepository, ActionTargetsService, ActionTargetsRepository],
})
export class BotTargetsModule {}
