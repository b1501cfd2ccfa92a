import type { Database, Sql } from '@parley/database/database';
import type { PassagesConfig } from './config';
import type { Embedder } from './embedder';
import type { IndexHealth } from './index-health';
import { LocalIndex } from './local-index';
import { LocalIndexRepository } from './local-index.repository';
import { OpenAiEmbedder } from './openai-embedder';
import type { KnownModel, PassageIndex } from './passage-index';
import { PreparedIndex } from './prepared-index';
import { QdrantIndex } from './qdrant-index';
import { SharedEmbedder } from './shared-embedder';

export type EmbeddingsConfig = Pick<
  PassagesConfig,
  'embeddingsUrl' | 'embeddingsModel' | 'embeddingsApiKey' | 'embeddingsTimeoutMs' | 'embeddingsThreads'
>;

export function openEmbedder(config: EmbeddingsConfig): Embedder {
  if (!config.embeddingsUrl) return SharedEmbedder.open(config.embeddingsThreads);
  return new OpenAiEmbedder({
    url: config.embeddingsUrl,
    model: config.embeddingsModel,
    apiKey: config.embeddingsApiKey,
    timeoutMs: config.embeddingsTimeoutMs,
  });
}

/** Vectors of two models are never mixed: each has an index of its own, where the configuration has them. */
export function openIndex(
  config: PassagesConfig,
  database: Database,
  model: Embedder,
  knownModels?: (within?: Sql) => Promise<KnownModel[]>,
  health?: IndexHealth,
): PassageIndex {
  const kind = config.passageIndex ?? (config.qdrantUrl ? 'qdrant' : 'local');
  if (kind === 'local')
    return new LocalIndex({
      repository: new LocalIndexRepository(database),
      embedder: model,
      cacheMb: config.vectorCacheMb,
    });
  if (!config.qdrantUrl) throw new Error('PASSAGE_INDEX is qdrant: set QDRANT_URL to its address.');
  const { qdrantUrl: url, qdrantApiKey: apiKey } = config;
  const index = new QdrantIndex({ url, apiKey, embedder: model, knownModels, health });
  // The bundled model has the same dimensions always; it is not loaded only to be asked.
  return new PreparedIndex(index, () => (model instanceof SharedEmbedder ? Promise.resolve() : model.ready()));
}
