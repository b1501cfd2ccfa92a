import { Module } from '@nestjs/common';
import { QueuesModule } from '../queues/queues.module';
import { RowsModule } from '../rows/rows.module';
import { TableDefinitionsModule } from '../tables/table-definitions.module';
import { BotFilesClient } from './bot-files.client';
import { ExportJobService } from './export-job.service';
import { ImportJobService } from './import-job.service';
import { ImportsExportsController } from './imports-exports.controller';
import { ImportsExportsService } from './imports-exports.service';

@Module({
  imports: [QueuesModule, RowsModule, TableDefinitionsModule],
  controllers: [ImportsExportsController],
  providers: [BotFilesClient, ExportJobService, ImportJobService, ImportsExportsService],
  exports: [ExportJobService, ImportJobService],
})
export class ImportsExportsModule {}
