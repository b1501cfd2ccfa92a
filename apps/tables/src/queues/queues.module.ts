import { Module } from '@nestjs/common';
import { JobQueueService } from './job-queue.service';
import { JobsRepository } from './jobs.repository';
import { TableWorkRepository } from './table-work.repository';
import { WorkSignalService } from './work-signal.service';

/** Queues in Postgres: jobs, and tables with rows to compute or to index. */
@Module({
  providers: [JobQueueService, JobsRepository, TableWorkRepository, WorkSignalService],
  exports: [JobQueueService, JobsRepository, TableWorkRepository, WorkSignalService],
})
export class QueuesModule {}
