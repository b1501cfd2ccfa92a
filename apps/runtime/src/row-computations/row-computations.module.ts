import { Module } from '@nestjs/common';
import { ActionsModule } from '../actions/actions.module';
import { BotTargetsModule } from '../bot-targets/bot-targets.module';
import { IssuesModule } from '../issues/issues.module';
import { ComputeRowsHandler } from './compute-rows.handler';
import { RowComputationsWorker } from './row-computations.worker';

@Module({
  imports: [ActionsModule, BotTargetsModule, IssuesModule],
  controllers: [ComputeRowsHandler],
  providers: [RowComputationsWorker],
})
export class RowComputationsModule {}
