import { Module } from '@nestjs/common';
import { BotCodeModule } from '../bot-code/bot-code.module';
import { UsageModule } from '../../people/usage/usage.module';
import { ActionTargetsRepository } from './action-targets.repository';
import { ActionTargetsService } from './action-targets.service';
import { BotTargetsController } from './bot-targets.controller';
import { BotTargetsRepository } from './bot-targets.repository';
import { BotTargetsService } from './bot-targets.service';
import { InstallationTargetsRepository } from './installation-targets.repository';
import { InstallationTargetsService } from './installation-targets.service';

@Module({
  imports: [BotCodeModule, UsageModule],
  controllers: [BotTargetsController],
  providers: [
    BotTargetsService,
    BotTargetsRepository,
    ActionTargetsService,
    ActionTargetsRepository,
    InstallationTargetsService,
    InstallationTargetsRepository,
  ],
})
export class BotTargetsModule {}
