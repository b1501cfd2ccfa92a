import { type DynamicModule, Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Database } from '@parley/database/database';
import type { PassagesConfig } from './config';
import type { Embedder } from './embedder';
import { LocalIndex } from './local-index';
import { LocalIndexRepository } from './local-index.repository';
import { OpenAiEmbedder } from './openai-embedder';
import type { PassageIndex } from './passage-index';
import { PreparedIndex } from './prepared-index';
import { QdrantIndex } from './qdrant-index';
import { SharedEmbedder } from './shared-embedder';
import { embedder, passageIndex } from './tokens';

/**
 * The embedder and the passage index of a service. The local index keeps its points in the schema of that service, which
 * has LocalIndex1700000000200 among its migrations.
 */
@Module({})
export class PassagesModule {
  static register(config: PassagesConfig): DynamicModule {
    return {
      module: PassagesModule,
      providers: [
        { provide: embedder, useFactory: () => openEmbedder(config) },
        {
          provide: passageIndex,
          useFactory: (database: Database, model: Embedder) => openIndex(config, database, model),
          inject: [Database, embedder],
        },
        CloseEmbedder,
      ],
      exports: [embedder, passageIndex],
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
function openEmbedder(config: PassagesConfig): Embedder {
  if (!config.embeddingsUrl) return SharedEmbedder.open(config.embeddingsThreads);
  return new OpenAiEmbedder({
    url: config.embeddingsUrl,
    model: config.embeddingsModel,
    apiKey: config.embeddingsApiKey,
    timeoutMs: config.embeddingsTimeoutMs,
  });
}

function openIndex(config: PassagesConfig, database: Database, model: Embedder): PassageIndex {
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
