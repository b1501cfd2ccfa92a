import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ConfigError } from '@parley/config/config';
import type { Database } from '@parley/persistence/database';
import type { Embedder } from '@parley/passages/embedder';
import { openEmbedder, openIndex } from '@parley/passages/open';
import type { PassageIndex } from '@parley/passages/passage-index';
import type { FileStoreConfig } from './config';
import { nextModel } from './tokens';

const restMs = 60_000;

/** Next embedding model and its index, which is filled while the active one is searched. */
export class NextModelService {
  private restsUntil = 0;

  private constructor(
    readonly embedder: Embedder,
    readonly index: PassageIndex,
  ) {}

  /** Null unless configured. Throws ConfigError when it is the active model. */
  static async open(config: FileStoreConfig, database: Database, active: Embedder): Promise<NextModelService | null> {
    const { nextEmbeddingsUrl: url } = config;
    if (!url) return null;
    const embedder = openEmbedder({
      embeddingsUrl: url === 'bundled' ? undefined : url,
      embeddingsModel: config.nextEmbeddingsModel,
      embeddingsApiKey: config.nextEmbeddingsApiKey,
      embeddingsPassagePrefix: config.nextEmbeddingsPassagePrefix,
      embeddingsInputTypes: config.nextEmbeddingsInputTypes,
      embeddingsTimeoutMs: config.embeddingsTimeoutMs,
      embeddingsThreads: config.embeddingsThreads,
    });
    if (embedder.model !== active.model)
      return new NextModelService(embedder, await openIndex(config, database, embedder));
    throw new ConfigError([
      `NEXT_EMBEDDINGS_URL and NEXT_EMBEDDINGS_MODEL name the model "${active.model}", which is already active: set another one, or remove them.`,
    ]);
  }

  get model(): string {
    return this.embedder.model;
  }

  /**
   * Circuit breaker: after a failure, nothing waits for the model for 60 s. The re-index adds the points that it
   * misses.
   */
  get isResting(): boolean {
    return Date.now() < this.restsUntil;
  }

  rest(): void {
    this.restsUntil = Date.now() + restMs;
  }
}

@Injectable()
export class CloseNextModel implements OnApplicationShutdown {
  constructor(@Inject(nextModel) private readonly next: NextModelService | null) {}

  async onApplicationShutdown(): Promise<void> {
    await this.next?.embedder.close();
  }
}
