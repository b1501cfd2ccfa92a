import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IssueEntity } from './issue.entity';
import { IssueRecordsService } from './issue-records.service';
import { IssuesController } from './issues.controller';
import { IssuesRepository } from './issues.repository';
import { IssuesService } from './issues.service';
import { UnloadableCodeHandler } from './unloadable-code.handler';

@Module({
  imports: [TypeOrmModule.forFeature([IssueEntity])],
  controllers: [IssuesController, UnloadableCodeHandler],
  providers: [IssuesService, IssueRecordsService, IssuesRepository],
  exports: [IssueRecordsService, IssuesRepository],
})
export class IssuesModule {}
