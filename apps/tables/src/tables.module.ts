import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { tablesApp } from '@parley/contracts/apps/tables';
import { tables } from '@parley/contracts/tables/tables';
import { Completions } from '@parley/openai/completions';
import { deadLettersController } from '@parley/events/dead-letters';
import { eventEntities } from '@parley/events/event-entities';
import { localIndexEntities } from '@parley/passages/local-index.entity';
import { PassagesModule } from '@parley/passages/passages.module';
import { IdempotencyKeyEntity } from '@parley/persistence/idempotency-key.entity';
import type { ServiceSchema } from '@parley/persistence/service-schema';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { CellComputerService } from './computed-columns/cell-computer.service';
import { RowComputerService } from './computed-columns/row-computer.service';
import { SandboxService } from './sandbox/sandbox.service';
import { StaleRowsRepository } from './computed-columns/stale-rows.repository';
import { TablesConfig } from './config';
import { DeletedBotEntity } from './erasure/deleted-bot.entity';
import { DroppedRowsEntity } from './erasure/dropped-rows.entity';
import { EraseBotHandler } from './erasure/erase-bot.handler';
import { ErasureController } from './erasure/erasure.controller';
import { ErasureRepository } from './erasure/erasure.repository';
import { ErasureService } from './erasure/erasure.service';
import { QueriesController } from './queries/queries.controller';
import { QueriesRepository } from './queries/queries.repository';
import { QueriesService } from './queries/queries.service';
import { BotFilesClient } from './imports-exports/bot-files.client';
import { DuplicateJobService } from './tables/duplicate-job.service';
import { ExportJobService } from './imports-exports/export-job.service';
import { ImportJobService } from './imports-exports/import-job.service';
import { JobEntity } from './queues/job.entity';
import { RowBatchesRepository } from './tables/row-batches.repository';
import { JobsWorker } from './workers/jobs.worker';
import { ImportsExportsController } from './imports-exports/imports-exports.controller';
import { JobsRepository } from './queues/jobs.repository';
import { ImportsExportsService } from './imports-exports/imports-exports.service';
import { SettleRowsJobService } from './tables/settle-rows-job.service';
import { Tables1795392000000 } from './migrations/1795392000000-tables';
import { InsertQueueService } from './rows/insert-queue.service';
import { RowEntity } from './tables/row.entity';
import { RowChangesRepository } from './rows/row-changes.repository';
import { RowChangesService } from './rows/row-changes.service';
import { RowDeletionsRepository } from './rows/row-deletions.repository';
import { RowDeletionsService } from './rows/row-deletions.service';
import { RowsController } from './rows/rows.controller';
import { RowsRepository } from './rows/rows.repository';
import { RowsService } from './rows/rows.service';
import { WrittenRowsService } from './rows/written-rows.service';
import { DroppedPointEntity } from './search/dropped-point.entity';
import { ReindexController } from './search/reindex.controller';
import { ReindexService } from './search/reindex.service';
import { RowIndexService } from './search/row-index.service';
import { RowPointsService } from './search/row-points.service';
import { RowSearchService } from './queries/row-search.service';
import { UnindexedRowsRepository } from './search/unindexed-rows.repository';
import { TableEntity } from './tables/table.entity';
import { TableCache } from './tables/table.cache';
import { TableRowsRepository } from './tables/table-rows.repository';
import { TableStateEntity } from './tables/table-state.entity';
import { TablesController } from './tables/tables.controller';
import { TablesRepository } from './tables/tables.repository';
import { TablesService } from './tables/tables.service';
import { TableWorkEntity } from './queues/table-work.entity';
import { TableWorkRepository } from './queues/table-work.repository';

export const tablesDatabase: ServiceSchema = {
  schema: 'tables',
  migrations: [Tables1795392000000],
  entities: [
    ...eventEntities,
    IdempotencyKeyEntity,
    ...localIndexEntities,
    TableEntity,
    TableStateEntity,
    RowEntity,
    TableWorkEntity,
    DroppedRowsEntity,
    DroppedPointEntity,
    DeletedBotEntity,
    JobEntity,
  ],
};

@Module({})
export class TablesModule {
  static register(config: TablesConfig, platform: Platform): DynamicModule {
    return {
      module: TablesModule,
      imports: [
        ServiceModule.register(
          {
            name: 'tables',
            contract: tables,
            consumers: tablesApp.consumes,
            database: { ...tablesDatabase, config },
          },
          platform,
        ),
        PassagesModule.register(config),
        TypeOrmModule.forFeature([TableStateEntity]),
      ],
      controllers: [
        TablesController,
        RowsController,
        QueriesController,
        ImportsExportsController,
        ErasureController,
        ReindexController,
        deadLettersController(tables.deadLetters),
        EraseBotHandler,
      ],
      providers: [
        { provide: TablesConfig, useValue: config },
        BotFilesClient,
        CellComputerService,
        { provide: Completions, useValue: new Completions(config) },
        RowComputerService,
        DuplicateJobService,
        ErasureRepository,
        ErasureService,
        ExportJobService,
        QueriesRepository,
        QueriesService,
        ImportJobService,
        InsertQueueService,
        RowBatchesRepository,
        JobsWorker,
        JobsRepository,
        ImportsExportsService,
        ReindexService,
        RowChangesRepository,
        RowChangesService,
        RowDeletionsRepository,
        RowDeletionsService,
        RowIndexService,
        RowPointsService,
        RowSearchService,
        RowsRepository,
        RowsService,
        SandboxService,
        SettleRowsJobService,
        StaleRowsRepository,
        TableCache,
        TableRowsRepository,
        TablesRepository,
        TablesService,
        UnindexedRowsRepository,
        TableWorkRepository,
        WrittenRowsService,
      ],
    };
  }
}
