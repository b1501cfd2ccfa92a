import { type DynamicModule, Module } from '@nestjs/common';
import { FileStoreModule, filesDatabase } from '@parley/file-store/file-store.module';
import { Completions } from '@parley/openai/completions';
import { filesWorkerApp } from '@parley/contracts/apps/files';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { FilesWorkerConfig } from './config';
import { IndexFileHandler } from './index-file.handler';
import { IndexingJobService } from './indexing-job.service';
import { Indexer } from './indexer';
import { DocumentAdvisers } from './models/document-advisers';
import { ModelServer } from './models/model-server';
import { Summarizer } from './models/summarizer';
import { DocumentReader } from './reading/document-reader';

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
        ModelServer,
        DocumentAdvisers,
        Summarizer,
        DocumentReader,
        Indexer,
        IndexingJobService,
      ],
    };
  }
}
