import { type DynamicModule, Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { BlobStore } from '@parley/blobs/blob-store';
import { Database } from '@parley/persistence/database';
import type { Embedder } from '@parley/passages/embedder';
import { LocalIndex1700000000200 } from '@parley/passages/migrations/1700000000200-local-index';
import { LocalIndexModels1700000000210 } from '@parley/passages/migrations/1700000000210-local-index-models';
import { PassagesModule } from '@parley/passages/passages.module';
import { embedder } from '@parley/passages/tokens';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import type { FileStoreConfig } from './config';
import { DeletedBotsRepository } from './deleted-bots.repository';
import { FilesRepository } from './files.repository';
import { FoundPassagesRepository } from './found-passages.repository';
import { IndexModelsRepository, listKnownModels } from './index-models.repository';
import { JobsRepository } from './jobs.repository';
import { Files1700000002000 } from './migrations/1700000002000-files';
import { FilesInFull1700000002010 } from './migrations/1700000002010-files-in-full';
import { VisibleWork1700000002030 } from './migrations/1700000002030-visible-work';
import { IndexingTurns1700000002040 } from './migrations/1700000002040-indexing-turns';
import { JobTraceparent1700000002050 } from './migrations/1700000002050-job-traceparent';
import { ActiveCurrent1700000002060 } from './migrations/1700000002060-active-current';
import { IndexModels1700000002020 } from './migrations/1700000002020-index-models';
import { FileTagsRepository } from './file-tags.repository';
import { ModelCheck } from './model-check';
import { CloseNextModel, NextModel } from './next-model';
import { openBlobs } from './open-blobs';
import { PassagesRepository } from './passages.repository';
import { StorageUseRepository } from './storage-use.repository';
import { blobStore, nextModel } from './tokens';
import { UntidyFilesRepository } from './untidy-files.repository';
import { UploadsRepository } from './uploads.repository';

export const filesDatabase = {
  schema: 'files',
  migrations: [
    LocalIndex1700000000200,
    LocalIndexModels1700000000210,
    Files1700000002000,
    FilesInFull1700000002010,
    IndexModels1700000002020,
    VisibleWork1700000002030,
    IndexingTurns1700000002040,
    JobTraceparent1700000002050,
    ActiveCurrent1700000002060,
  ],
};

const repositories = [
  DeletedBotsRepository,
  FilesRepository,
  FileTagsRepository,
  FoundPassagesRepository,
  IndexModelsRepository,
  JobsRepository,
  PassagesRepository,
  StorageUseRepository,
  UntidyFilesRepository,
  UploadsRepository,
];

/** Schema `files`, blob store and passage index, for the files service and its worker only. */
@Module({})
export class FileStoreModule {
  static register(config: FileStoreConfig): DynamicModule {
    return {
      module: FileStoreModule,
      imports: [PassagesModule.register(config, listKnownModels)],
      providers: [
        ...repositories,
        {
          provide: blobStore,
          useFactory: ({ metrics }: Platform) => openBlobs(config, () => metrics.countWritesRefused('content store')),
          inject: [platformToken],
        },
        {
          provide: nextModel,
          useFactory: (database: Database, active: Embedder) => NextModel.open(config, database, active),
          inject: [Database, embedder],
        },
        ModelCheck,
        CloseBlobs,
        CloseNextModel,
      ],
      exports: [...repositories, blobStore, nextModel, PassagesModule],
    };
  }
}

@Injectable()
class CloseBlobs implements OnApplicationShutdown {
  constructor(@Inject(blobStore) private readonly blobs: BlobStore) {}

  onApplicationShutdown(): void {
    this.blobs.close();
  }
}
