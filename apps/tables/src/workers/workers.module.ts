import { Module } from '@nestjs/common';
import { ComputedColumnsModule } from '../computed-columns/computed-columns.module';
import { ErasureModule } from '../erasure/erasure.module';
import { ImportsExportsModule } from '../imports-exports/imports-exports.module';
import { QueuesModule } from '../queues/queues.module';
import { SearchModule } from '../search/search.module';
import { TableDefinitionsModule } from '../tables/table-definitions.module';
import { ComputeWorker } from './compute.worker';
import { ErasureWorker } from './erasure.worker';
import { JobsWorker } from './jobs.worker';
import { RowIndexWorker } from './row-index.worker';

/** Background loops. */
@Module({
  imports: [
    ComputedColumnsModule,
    ErasureModule,
    ImportsExportsModule,
    QueuesModule,
    SearchModule,
    TableDefinitionsModule,
  ],
  providers: [ComputeWorker, ErasureWorker, JobsWorker, RowIndexWorker],
})
export class WorkersModule {}
