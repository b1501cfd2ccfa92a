import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BotHomeEntity, ComputingBotEntity } from './bots/bot.entity';
import { BotsRepository } from './bots/bots.repository';
import { JobsRepository } from './jobs/jobs.repository';
import { SandboxService } from './sandbox/sandbox.service';
import { DuplicateJobService } from './tables/duplicate-job.service';
import { RowBatchesRepository } from './tables/row-batches.repository';
import { SchemaChangesService } from './tables/schema-changes.service';
import { SettleRowsJobService } from './tables/settle-rows-job.service';
import { TableCopiesService } from './tables/table-copies.service';
import { TableRowsRepository } from './tables/table-rows.repository';
import { TableWriterService } from './tables/table-writer.service';
import { TableCache } from './tables/table.cache';
import { TableStateEntity } from './tables/table.entity';
import { TablesController } from './tables/tables.controller';
import { TablesRepository } from './tables/tables.repository';
import { TablesService } from './tables/tables.service';

/** Tables: their definitions, the jobs that change them, and the sandbox for the code of their columns. */
@Module({
  imports: [TypeOrmModule.forFeature([BotHomeEntity, ComputingBotEntity, TableStateEntity])],
  controllers: [TablesController],
  providers: [
    TablesService,
    TablesRepository,
    TableCache,
    TableWriterService,
    TableCopiesService,
    TableRowsRepository,
    RowBatchesRepository,
    SchemaChangesService,
    DuplicateJobService,
    SettleRowsJobService,
    JobsRepository,
    BotsRepository,
    SandboxService,
  ],
  exports: [
    BotsRepository,
    DuplicateJobService,
    JobsRepository,
    RowBatchesRepository,
    SandboxService,
    SchemaChangesService,
    SettleRowsJobService,
    TableCache,
    TableRowsRepository,
    TablesRepository,
    TableWriterService,
  ],
})
export class DefinitionsModule {}
