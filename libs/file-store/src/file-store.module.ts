import { type DynamicModule, Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { FolderBlobs } from '@parley/blobs/folder-blobs';
import { Database } from '@parley/database/database';
import { BundledEmbedder } from '@parley/passages/bundled-embedder';
import type { Embedder } from '@parley/passages/embedder';
import { LocalIndex } from '@parley/passages/local-index';
import { LocalIndexRepository } from '@parley/passages/local-index.repository';
import { LocalIndex1700000000200 } from '@parley/passages/migrations/1700000000200-local-index';
import { OpenAiEmbedder } from '@parley/passages/openai-embedder';
import type { PassageIndex } from '@parley/passages/passage-index';
import { PreparedIndex } from '@parley/passages/prepared-index';
import { QdrantIndex } from '@parley/passages/qdrant-index';
import type { FileStoreConfig } from './config';
import { DeletedBotsRepository } from './deleted-bots.repository';
import { FilesRepository } from './files.repository';
import { JobsRepository } from './jobs.repository';
import { Files1700000002000 } from './migrations/1700000002000-files';
import { PassagesRepository } from './passages.repository';
import { blobStore, embedder, passageIndex } from './tokens';
import { UntidyFilesRepository } from './untidy-files.repository';
import { UploadsRepository } from './uploads.repository';

export const filesDatabase = { schema: 'files', migrations: [LocalIndex1700000000200, Files1700000002000] };

const repositories = [
  DeletedBotsRepository,
  FilesRepository,
  JobsRepository,
  PassagesRepository,
  UntidyFilesRepository,
  UploadsRepository,
];

/** The schema `files`, the content and the passage index, for the files service and its worker alone. */
@Module({})
export class FileStoreModule {
  static register(config: FileStoreConfig): DynamicModule {
    return {
      module: FileStoreModule,
      providers: [
        ...repositories,
        {
          provide: blobStore,
          useFactory: async () => {
            const blobs = new FolderBlobs(config.blobsDir);
            await blobs.ready();
            return blobs;
          },
        },
        { provide: embedder, useFactory: () => openEmbedder(config) },
        {
          provide: passageIndex,
          useFactory: (database: Database, model: Embedder) => openIndex(config, database, model),
          inject: [Database, embedder],
        },
        CloseEmbedder,
      ],
      exports: [...repositories, blobStore, embedder, passageIndex],
    };
  }
}

@Injectable()
class CloseEmbedder implements OnApplicationShutdown {
  constructor(@Inject(embedder) private readonly model: Embedder) {}

  onApplicationShutdown(): Promise<void> {
    return this.model.close();
  }
}

/** Vectors of two models are never mixed: the index is named for its model. */
function openEmbedder(config: FileStoreConfig): Embedder {
  if (!config.embeddingsUrl) return new BundledEmbedder({ threads: config.embeddingsThreads });
  return new OpenAiEmbedder({
    url: config.embeddingsUrl,
    model: config.embeddingsModel,
    apiKey: config.embeddingsApiKey,
    timeoutMs: config.embeddingsTimeoutMs,
  });
}

function openIndex(config: FileStoreConfig, database: Database, model: Embedder): PassageIndex {
  const kind = config.passageIndex ?? (config.qdrantUrl ? 'qdrant' : 'local');
  if (kind === 'local')
    return new LocalIndex({
      repository: new LocalIndexRepository(database),
      embedder: model,
      cacheMb: config.vectorCacheMb,
    });
  if (!config.qdrantUrl) throw new Error('PASSAGE_INDEX is qdrant: set QDRANT_URL to its address.');
  const index = new QdrantIndex({ url: config.qdrantUrl, apiKey: config.qdrantApiKey, embedder: model });
  // The bundled model has the same dimensions always; it is not loaded only to be asked.
  return new PreparedIndex(index, () => (config.embeddingsUrl ? model.ready() : Promise.resolve()));
}
