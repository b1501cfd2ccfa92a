import { Module } from '@nestjs/common';
import { DefinitionsModule } from '../definitions.module';
import { RowsModule } from '../rows.module';
import { BotFilesClient } from './bot-files.client';
import { ExportJobService } from './export-job.service';
import { ImportJobService } from './import-job.service';
import { ImportsExportsController } from './imports-exports.controller';
import { ImportsExportsService } from './imports-exports.service';
import { JobsWorker } from './jobs.worker';

@Module({
  imports: [DefinitionsModule, RowsModule],
  controllers: [ImportsExportsController],
  providers: [BotFilesClient, ExportJobService, ImportJobService, ImportsExportsService, JobsWorker],
})
export class ImportsExportsModule {}
