import { type DynamicModule, Module } from '@nestjs/common';
import { tablesApp } from '@parley/contracts/apps/tables';
import { tables, tablesWorkAdded } from '@parley/contracts/tables/tables';
import { deadLettersController } from '@parley/events/dead-letters';
import { eventEntities } from '@parley/events/event-entities';
import { localIndexEntities } from '@parley/passages/local-index.entity';
import { LocalIndexBlocks1797250000000 } from '@parley/passages/migrations/1797250000000-local-index-blocks';
import { PassageIndexModule } from '@parley/passages/passage-index.module';
import { workController } from '@parley/work-queue/work.controller';
import { WorkFailures1796900000000 } from '@parley/work-queue/migrations/1796900000000-work-failures';
import { WorkEntity } from '@parley/work-queue/work.entity';
import { IdempotencyKeyEntity } from '@parley/persistence/idempotency-key.entity';
import type { ServiceSchema } from '@parley/persistence/service-schema';
import { ConfigModule } from '@parley/service/config.module';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { BotHomeEntity, ComputingBotEntity, DeletedBotEntity } from './bots/bot.entity';
import { RequestedCellEntity } from './computed-columns/requested-cell.entity';
import { TablesConfig } from './config';
import { DefinitionsModule } from './definitions.module';
import { ImportsExportsModule } from './imports-exports/imports-exports.module';
import { JobEntity } from './jobs/job.entity';
import { Tables1795392000000 } from './migrations/1795392000000-tables';
import { WorkQueue1796000000000 } from './migrations/1796000000000-work-queue';
import { RequestedCells1797000000000 } from './migrations/1797000000000-requested-cells';
import { RowModel1797100000000 } from './migrations/1797100000000-row-model';
import { Lexicon1797200000000 } from './migrations/1797200000000-lexicon';
import { BotHomes1797300000000 } from './migrations/1797300000000-bot-homes';
import { RowsModule } from './rows.module';
import { DroppedPointEntity, RowModelEntity } from './search/row-point.entity';
import { RowEntity } from './tables/row.entity';
import { TableEntity, TableStateEntity } from './tables/table.entity';

export const tablesDatabase: ServiceSchema = {
  schema: 'tables',
  migrations: [
    Tables1795392000000,
    WorkQueue1796000000000,
    WorkFailures1796900000000,
    RequestedCells1797000000000,
    RowModel1797100000000,
    Lexicon1797200000000,
    LocalIndexBlocks1797250000000,
    BotHomes1797300000000,
  ],
  entities: [
    ...eventEntities,
    WorkEntity,
    IdempotencyKeyEntity,
    ...localIndexEntities,
    TableEntity,
    TableStateEntity,
    RowEntity,
    DroppedPointEntity,
    RowModelEntity,
    BotHomeEntity,
    ComputingBotEntity,
    RequestedCellEntity,
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
            workAdded: tablesWorkAdded,
          },
          platform,
        ),
        ConfigModule.register(TablesConfig, config),
        PassageIndexModule.register(config),
        DefinitionsModule,
        RowsModule,
        ImportsExportsModule,
      ],
      controllers: [deadLettersController(tables.deadLetters), workController(tables.work)],
    };
  }
}
