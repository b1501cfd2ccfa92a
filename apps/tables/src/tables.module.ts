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
import { CellComputer } from './computed/cell-computer';
import { ComputeService } from './computed/compute.service';
import { Sandbox } from './computed/sandbox/sandbox';
import { StaleRowsRepository } from './computed/stale-rows.repository';
import { TablesConfig } from './config';
import { DeletedBotEntity } from './erasure/deleted-bot.entity';
import { DroppedRowsEntity } from './erasure/dropped-rows.entity';
import { EraseBotHandler } from './erasure/erase-bot.handler';
import { ErasureController } from './erasure/erasure.controller';
import { ErasureRepository } from './erasure/erasure.repository';
import { ErasureService } from './erasure/erasure.service';
import { FindController } from './find/find.controller';
import { FindRepository } from './find/find.repository';
import { FindService } from './find/find.service';
import { BotFiles } from './jobs/bot-files';
import { DuplicateJob } from './jobs/duplicate-job';
import { ExportJob } from './jobs/export-job';
import { ImportJob } from './jobs/import-job';
import { JobEntity } from './jobs/job.entity';
import { JobRowsRepository } from './jobs/job-rows.repository';
import { JobRunner } from './jobs/job-runner';
import { JobsController } from './jobs/jobs.controller';
import { JobsRepository } from './jobs/jobs.repository';
import { JobsService } from './jobs/jobs.service';
import { SettleRowsJob } from './jobs/settle-rows-job';
import { Tables1795392000000 } from './migrations/1795392000000-tables';
import { InsertQueue } from './rows/insert-queue';
import { RowEntity } from './rows/row.entity';
import { RowChangesRepository } from './rows/row-changes.repository';
import { RowChangesService } from './rows/row-changes.service';
import { RowDeletionsRepository } from './rows/row-deletions.repository';
import { RowDeletionsService } from './rows/row-deletions.service';
import { RowsController } from './rows/rows.controller';
import { RowsRepository } from './rows/rows.repository';
import { RowsService } from './rows/rows.service';
import { WrittenRows } from './rows/written-rows';
import { DroppedPointEntity } from './search/dropped-point.entity';
import { ReindexController } from './search/reindex.controller';
import { ReindexService } from './search/reindex.service';
import { RowIndexService } from './search/row-index.service';
import { RowPoints } from './search/row-points';
import { RowSearch } from './search/row-search';
import { UnindexedRowsRepository } from './search/unindexed-rows.repository';
import { TableEntity } from './tables/table.entity';
import { TableCatalog } from './tables/table-catalog';
import { TableRowsRepository } from './tables/table-rows.repository';
import { TableStateEntity } from './tables/table-state.entity';
import { TablesController } from './tables/tables.controller';
import { TablesRepository } from './tables/tables.repository';
import { TablesService } from './tables/tables.service';
import { TableWorkEntity } from './work/table-work.entity';
import { WorkRepository } from './work/work.repository';

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
        FindController,
        JobsController,
        ErasureController,
        ReindexController,
        deadLettersController(tables.deadLetters),
        EraseBotHandler,
      ],
      providers: [
        { provide: TablesConfig, useValue: config },
        BotFiles,
        CellComputer,
        { provide: Completions, useValue: new Completions(config) },
        ComputeService,
        DuplicateJob,
        ErasureRepository,
        ErasureService,
        ExportJob,
        FindRepository,
        FindService,
        ImportJob,
        InsertQueue,
        JobRowsRepository,
        JobRunner,
        JobsRepository,
        JobsService,
        ReindexService,
        RowChangesRepository,
        RowChangesService,
        RowDeletionsRepository,
        RowDeletionsService,
        RowIndexService,
        RowPoints,
        RowSearch,
        RowsRepository,
        RowsService,
        Sandbox,
        SettleRowsJob,
        StaleRowsRepository,
        TableCatalog,
        TableRowsRepository,
        TablesRepository,
        TablesService,
        UnindexedRowsRepository,
        WorkRepository,
        WrittenRows,
      ],
    };
  }
}
