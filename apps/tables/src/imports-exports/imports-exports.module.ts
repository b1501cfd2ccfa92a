import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module';
import { RowsModule } from '../rows/rows.module';
import { TableDefinitionsModule } from '../tables/table-definitions.module';
import { BotFilesClient } from './bot-files.client';
import { ExportJobService } from './export-job.service';
import { ImportJobService } from './import-job.service';
import { ImportsExportsController } from './imports-exports.controller';
import { ImportsExportsService } from './imports-exports.service';
import { JobsWorker } from './jobs.worker';

@Module({
  imports: [JobsModule, RowsModule, TableDefinitionsModule],
  controllers: [ImportsExportsController],
  providers: [BotFilesClient, ExportJobService, ImportJobService, ImportsExportsService, JobsWorker],
})
export class ImportsExportsModule {}
