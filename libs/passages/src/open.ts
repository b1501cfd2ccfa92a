import type { Database, Sql } from '@parley/persistence/database';
import type { PassagesConfig } from './config';
import type { Embedder } from './embedder';
import type { IndexHealth } from './index-health';
import { LocalIndex } from './local-index';
import { LocalIndexRepository } from './local-index.repository';
import { OpenAiEmbedder } from './openai-embedder';
import type { KnownModel, PassageIndex } from './passage-index';
import { PreparedIndex } from './prepared-index';
import { SharedEmbedder } from './shared-embedder';

export type EmbeddingsConfig = Pick<
  PassagesConfig,
  | 'embeddingsUrl'
  | 'embeddingsModel'
  | 'embeddingsApiKey'
  | 'embeddingsQueryPrefix'
  | 'embeddingsPassagePrefix'
  | 'embeddingsInputTypes'
  | 'embeddingsLeastScore'
  | 'embeddingsTimeoutMs'
  | 'embeddingsThreads'
>;

export function openEmbedder(config: EmbeddingsConfig): Embedder {
  if (!config.embeddingsUrl) return SharedEmbedder.open(config.embeddingsThreads);
  return new OpenAiEmbedder({
    url: config.embeddingsUrl,
    model: config.embeddingsModel,
    apiKey: config.embeddingsApiKey,
    query: { prefix: config.embeddingsQueryPrefix, inputType: config.embeddingsInputTypes?.[0] },
    passage: { prefix: config.embeddingsPassagePrefix, inputType: config.embeddingsInputTypes?.[1] },
    calibration: config.embeddingsLeastScore,
    timeoutMs: config.embeddingsTimeoutMs,
  });
}

export async function openIndex(
  config: PassagesConfig,
  database: Database,
  model: Embedder,
  knownModels?: (within?: Sql) => Promise<KnownModel[]>,
  health?: IndexHealth,
): Promise<PassageIndex> {
  const { qdrantUrl: url, qdrantApiKey: apiKey } = config;
  if (!url)
    return new LocalIndex({
      repository: new LocalIndexRepository(database),
      embedder: model,
      cacheMb: config.vectorCacheMb,
      health,
    });
  // Lazy import: loading it takes 18 MB and a tenth of a second.
  const { QdrantIndex } = await import('./qdrant-index');
  const index = new QdrantIndex({ url, apiKey, embedder: model, knownModels, health });
  // The dimensions of the bundled model are constant, so it is not loaded here.
  return new PreparedIndex(index, () => (model instanceof SharedEmbedder ? Promise.resolve() : model.ready()));
}
