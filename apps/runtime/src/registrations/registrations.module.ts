import { Module } from '@nestjs/common';
import { BotTargetsModule } from '../bot-targets/bot-targets.module';
import { InvocationsModule } from '../invocations/invocations.module';
import { IssuesModule } from '../issues/issues.module';
import { RegisterBotHandler } from './register-bot.handler';
import { RegistrationsWorker } from './registrations.worker';

@Module({
  imports: [BotTargetsModule, InvocationsModule, IssuesModule],
  controllers: [RegisterBotHandler],
  providers: [RegistrationsWorker],
})
export class RegistrationsModule {}
