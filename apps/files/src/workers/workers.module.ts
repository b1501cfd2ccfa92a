import { Module } from '@nestjs/common';
import { ErasureModule } from '../erasure/erasure.module';
import { IndexingWorkModule } from '../indexing-work/indexing-work.module';
import { AbandonedBlobsWorker } from './abandoned-blobs.worker';
import { CleanupWorker } from './cleanup.worker';
import { DeletedBotsWorker } from './deleted-bots.worker';
import { ExpiredFilesWorker } from './expired-files.worker';
import { FileCleanupService } from './file-cleanup.service';
import { IndexingMetricsWorker } from './indexing-metrics.worker';
import { StalledJobsWorker } from './stalled-jobs.worker';
import { UsageReportsWorker } from './usage-reports.worker';

/** Sweepers and other background loops. */
@Module({
  imports: [ErasureModule, IndexingWorkModule],
  providers: [
    AbandonedBlobsWorker,
    CleanupWorker,
    DeletedBotsWorker,
    ExpiredFilesWorker,
    FileCleanupService,
    IndexingMetricsWorker,
    StalledJobsWorker,
    UsageReportsWorker,
  ],
})
export class WorkersModule {}
