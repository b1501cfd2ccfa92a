import { type DynamicModule, Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { BlobStore } from '@parley/blobs/blob-store';
import { eventEntities } from '@parley/events/event-entities';
import type { Embedder } from '@parley/passages/embedder';
import { localIndexEntities } from '@parley/passages/local-index.entity';
import { LocalIndexBlocks1797250000000 } from '@parley/passages/migrations/1797250000000-local-index-blocks';
import { PassageIndexModule } from '@parley/passages/passage-index.module';
import { embedder } from '@parley/passages/tokens';
import { Database } from '@parley/persistence/database';
import { WorkFailures1796900000000 } from '@parley/work-queue/migrations/1796900000000-work-failures';
import { WorkEntity } from '@parley/work-queue/work.entity';
import { IdempotencyKeyEntity } from '@parley/persistence/idempotency-key.entity';
import type { ServiceSchema } from '@parley/persistence/service-schema';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import type { FileStoreConfig } from './config';
import { DeletedBotEntity } from './deleted-bot.entity';
import { DeletedBotsRepository } from './deleted-bots.repository';
import { FileEntity } from './file.entity';
import { FileTagEntity } from './file-tag.entity';
import { FileTagsRepository } from './file-tags.repository';
import { FilesRepository } from './files.repository';
import { FoundPassagesRepository } from './found-passages.repository';
import { IndexedContentEntity, IndexModelEntity } from './index-model.entity';
import { IndexModelsRepository, listKnownModels } from './index-models.repository';
import { IndexingJobEntity, IndexingTurnEntity } from './indexing-job.entity';
import { JobsRepository } from './jobs.repository';
import { KnowledgeBaseEntity } from './knowledge-base.entity';
import { Files1795392000000 } from './migrations/1795392000000-files';
import { WorkQueue1796000000000 } from './migrations/1796000000000-work-queue';
import { Lexicon1797200000000 } from './migrations/1797200000000-lexicon';
import { Readers1797300000000 } from './migrations/1797300000000-readers';
import { RecognisedPassages1797400000000 } from './migrations/1797400000000-recognised-passages';
import { ModelCheckService } from './model-check.service';
import { CloseNextModel, NextModelService } from './next-model.service';
import { openBlobs } from './open-blobs';
import { PassageEntity } from './passage.entity';
import { PassagesRepository } from './passages.repository';
import { BotHomeEntity, StorageUseEntity } from './storage-use.entity';
import { StorageUseRepository } from './storage-use.repository';
import { blobStore, nextModel } from './tokens';
import { UploadEntity } from './upload.entity';
import { UploadsRepository } from './uploads.repository';

export const filesDatabase: ServiceSchema = {
  schema: 'files',
  migrations: [
    Files1795392000000,
    WorkQueue1796000000000,
    WorkFailures1796900000000,
    Lexicon1797200000000,
    LocalIndexBlocks1797250000000,
    Readers1797300000000,
    RecognisedPassages1797400000000,
  ],
  entities: [
    ...eventEntities,
    WorkEntity,
    IdempotencyKeyEntity,
    ...localIndexEntities,
    FileEntity,
    FileTagEntity,
    UploadEntity,
    IndexingJobEntity,
    IndexingTurnEntity,
    PassageEntity,
    IndexModelEntity,
    IndexedContentEntity,
    DeletedBotEntity,
    KnowledgeBaseEntity,
    StorageUseEntity,
    BotHomeEntity,
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
  UploadsRepository,
];

/** Schema `files`, blob store and passage index, for the files service and its worker only. */
@Module({})
export class FileStoreModule {
  static register(config: FileStoreConfig): DynamicModule {
    return {
      module: FileStoreModule,
      global: true,
      imports: [
        PassageIndexModule.register(config, listKnownModels),
        TypeOrmModule.forFeature([IndexModelEntity, PassageEntity, UploadEntity]),
      ],
      providers: [
        ...repositories,
        {
          provide: blobStore,
          useFactory: ({ metrics }: Platform) => openBlobs(config, () => metrics.countWritesRefused('content store')),
          inject: [platformToken],
        },
        {
          provide: nextModel,
          useFactory: (database: Database, active: Embedder) => NextModelService.open(config, database, active),
          inject: [Database, embedder],
        },
        ModelCheckService,
        CloseBlobs,
        CloseNextModel,
      ],
      exports: [...repositories, blobStore, nextModel, PassageIndexModule],
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
