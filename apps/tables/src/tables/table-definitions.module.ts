import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ComputingBotsModule } from '../computing-bots/computing-bots.module';
import { JobsModule } from '../jobs/jobs.module';
import { SandboxModule } from '../sandbox/sandbox.module';
import { DuplicateJobService } from './duplicate-job.service';
import { RowBatchesRepository } from './row-batches.repository';
import { SchemaChangesService } from './schema-changes.service';
import { SettleRowsJobService } from './settle-rows-job.service';
import { TableCopiesService } from './table-copies.service';
import { TableRowsRepository } from './table-rows.repository';
import { TableStateEntity } from './table-state.entity';
import { TableWriterService } from './table-writer.service';
import { TableCache } from './table.cache';
import { TablesController } from './tables.controller';
import { TablesRepository } from './tables.repository';
import { TablesService } from './tables.service';

@Module({
  imports: [ComputingBotsModule, JobsModule, SandboxModule, TypeOrmModule.forFeature([TableStateEntity])],
  controllers: [TablesController],
  providers: [
    DuplicateJobService,
    RowBatchesRepository,
    SchemaChangesService,
    SettleRowsJobService,
    TableCache,
    TableCopiesService,
    TableRowsRepository,
    TablesRepository,
    TablesService,
    TableWriterService,
  ],
  exports: [
    DuplicateJobService,
    RowBatchesRepository,
    SchemaChangesService,
    SettleRowsJobService,
    TableCache,
    TableRowsRepository,
    TablesRepository,
    TableWriterService,
  ],
})
export class TableDefinitionsModule {}
