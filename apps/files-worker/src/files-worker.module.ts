import { type DynamicModule, Module } from '@nestjs/common';
import { FileStoreModule, filesDatabase } from '@parley/file-store/file-store.module';
import { Completions } from '@parley/openai/completions';
import { filesWorkerApp } from '@parley/contracts/apps/files';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { FilesWorkerConfig } from './config';
import { IndexFileHandler } from './indexing/index-file.handler';
import { IndexingJobService } from './indexing/indexing-job.service';
import { IndexerService } from './indexing/indexer.service';
import { DocumentAdvisersService } from './models/document-advisers.service';
import { ModelServerClient } from './models/model-server.client';
import { SummarizerService } from './models/summarizer.service';
import { DocumentReaderService } from './indexing/document-reader.service';

/** Indexing worker: turns uploaded content into passages. Scales by its queue, independently of the files service. */
@Module({})
export class FilesWorkerModule {
  static register(config: FilesWorkerConfig, platform: Platform): DynamicModule {
    return {
      module: FilesWorkerModule,
      imports: [
        ServiceModule.register(
          {
            name: 'files-worker',
            contract: {},
            consumers: filesWorkerApp.consumes,
            database: { ...filesDatabase, config },
          },
          platform,
        ),
        FileStoreModule.register(config),
      ],
      controllers: [IndexFileHandler],
      providers: [
        { provide: FilesWorkerConfig, useValue: config },
        { provide: Completions, useValue: new Completions(config) },
        ModelServerClient,
        DocumentAdvisersService,
        SummarizerService,
        DocumentReaderService,
        IndexerService,
        IndexingJobService,
      ],
    };
  }
}
