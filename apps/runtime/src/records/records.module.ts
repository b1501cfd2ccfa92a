import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BudgetIssuesHandler } from './budget-issues.handler';
import { CallCountEntity } from './call-count.entity';
import { CallCountsRepository } from './call-counts.repository';
import { CallCountsService } from './call-counts.service';
import { EraseLogsHandler } from './erase-logs.handler';
import { IssueEntity } from './issue.entity';
import { IssueRecordsService } from './issue-records.service';
import { IssuesController } from './issues.controller';
import { IssuesRepository } from './issues.repository';
import { IssuesService } from './issues.service';
import { LogEntity } from './log.entity';
import { LogsController } from './logs.controller';
import { LogsRepository } from './logs.repository';
import { LogsService } from './logs.service';
import { UnloadableCodeHandler } from './unloadable-code.handler';

/** Records of the calls of bots: issues, logs, and counts for the usage. */
@Module({
  imports: [TypeOrmModule.forFeature([CallCountEntity, IssueEntity, LogEntity])],
  controllers: [BudgetIssuesHandler, EraseLogsHandler, IssuesController, LogsController, UnloadableCodeHandler],
  providers: [
    CallCountsService,
    CallCountsRepository,
    IssueRecordsService,
    IssuesService,
    IssuesRepository,
    LogsService,
    LogsRepository,
  ],
  exports: [CallCountsService, IssueRecordsService, IssuesRepository, LogsRepository],
})
export class RecordsModule {}
