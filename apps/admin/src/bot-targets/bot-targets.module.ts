import { Module } from '@nestjs/common';
import { BotCodeModule } from '../bot-code/bot-code.module';
import { UsageModule } from '../usage/usage.module';
import { BotTargetsController } from './bot-targets.controller';
import { BotTargetsRepository } from './bot-targets.repository';
import { BotTargetsService } from './bot-targets.service';

@Module({
  imports: [BotCodeModule, UsageModule],
  controllers: [BotTargetsController],
  providers: [BotTargetsService, BotTargetsRepository],
})
export class BotTargetsModule {}
