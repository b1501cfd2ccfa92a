import { type DynamicModule, Module } from '@nestjs/common';
import { apps } from '@parley/contracts/apps';
import { tables } from '@parley/contracts/tables/tables';
import { Completions } from '@parley/openai/completions';
import { deadLettersController } from '@parley/events/dead-letters';
import { LocalIndex1700000000200 } from '@parley/passages/migrations/1700000000200-local-index';
import { LocalIndexModels1700000000210 } from '@parley/passages/migrations/1700000000210-local-index-models';
import { PassagesModule } from '@parley/passages/passages.module';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { CellComputer } from './computed/cell-computer';
import { ComputeService } from './computed/compute.service';
import { Sandbox } from './computed/sandbox/sandbox';
import { StaleRowsRepository } from './computed/stale-rows.repository';
import { TablesConfig } from './config';
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
import { JobRowsRepository } from './jobs/job-rows.repository';
import { JobRunner } from './jobs/job-runner';
import { JobsController } from './jobs/jobs.controller';
import { JobsRepository } from './jobs/jobs.repository';
import { JobsService } from './jobs/jobs.service';
import { SettleRowsJob } from './jobs/settle-rows-job';
import { Tables1700000004000 } from './migrations/1700000004000-tables';
import { Jobs1700000004040 } from './migrations/1700000004040-jobs';
import { DroppedPoints1700000004080 } from './migrations/1700000004080-dropped-points';
import { InsertQueue } from './rows/insert-queue';
import { RowChangesRepository } from './rows/row-changes.repository';
import { RowChangesService } from './rows/row-changes.service';
import { RowDeletionsRepository } from './rows/row-deletions.repository';
import { RowDeletionsService } from './rows/row-deletions.service';
import { RowsController } from './rows/rows.controller';
import { RowsRepository } from './rows/rows.repository';
import { RowsService } from './rows/rows.service';
import { WrittenRows } from './rows/written-rows';
import { ReindexController } from './search/reindex.controller';
import { ReindexService } from './search/reindex.service';
import { RowIndexService } from './search/row-index.service';
import { RowPoints } from './search/row-points';
import { RowSearch } from './search/row-search';
import { UnindexedRowsRepository } from './search/unindexed-rows.repository';
import { TableCatalog } from './tables/table-catalog';
import { TableRowsRepository } from './tables/table-rows.repository';
import { TablesController } from './tables/tables.controller';
import { TablesRepository } from './tables/tables.repository';
import { TablesService } from './tables/tables.service';
import { WorkRepository } from './work/work.repository';

export const tablesDatabase = {
  schema: 'tables',
  migrations: [
    LocalIndex1700000000200,
    LocalIndexModels1700000000210,
    Tables1700000004000,
    Jobs1700000004040,
    DroppedPoints1700000004080,
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
            consumers: apps.tables.consumes,
            database: { ...tablesDatabase, config },
          },
          platform,
        ),
        PassagesModule.register(config),
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
