import {
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Database, type Sql } from '@parley/persistence/database';
import { Readiness } from '@parley/service/health.controller';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import type { PassagesConfig } from './config';
import type { Embedder } from './embedder';
import { IndexHealth } from './index-health';
import { openEmbedder, openIndex } from './open';
import type { KnownModel, PassageIndex } from './passage-index';
import { embedder, passageIndex } from './tokens';

/**
 * Embedder and passage index of a service. The local index stores its points in the service's own schema, whose first
 * migration must create `localIndexTables1795392000000`; `LocalIndexBlocks1797250000000` follows.
 */
@Module({})
export class PassageIndexModule {
  static register(config: PassagesConfig, knownModels?: (sql: Sql) => Promise<KnownModel[]>): DynamicModule {
    return {
      module: PassageIndexModule,
      global: true,
      providers: [
        { provide: embedder, useFactory: () => openEmbedder(config) },
        {
          provide: IndexHealth,
          useFactory: ({ logger, metrics }: Platform) => new IndexHealth(logger, metrics),
          inject: [platformToken],
        },
        {
          provide: passageIndex,
          useFactory: (database: Database, model: Embedder, health: IndexHealth) =>
            openIndex(config, database, model, knownModels && ((within = database) => knownModels(within)), health),
          inject: [Database, embedder, IndexHealth],
        },
        PrepareIndex,
        CloseIndexAndEmbedder,
      ],
      exports: [embedder, passageIndex, IndexHealth],
    };
  }
}

/** Prepares the index at boot, and again on each `/readyz` request while the index is unusable. */
@Injectable()
class PrepareIndex implements OnApplicationBootstrap {
  constructor(
    @Inject(passageIndex) private readonly index: PassageIndex,
    private readonly health: IndexHealth,
    private readonly readiness: Readiness,
  ) {}

  onApplicationBootstrap(): void {
    this.readiness.onImpaired('passage index', () => {
      const { problem } = this.health;
      if (problem) this.prepare();
      return problem;
    });
    this.prepare();
  }

  /** Not awaited: the first use of the index prepares it if necessary. */
  private prepare(): void {
    this.index.ready().catch((error: unknown) => {
      this.health.warn('the passage index is not ready yet', { err: error });
    });
  }
}

@Injectable()
class CloseIndexAndEmbedder implements OnApplicationShutdown {
  constructor(
    @Inject(passageIndex) private readonly index: PassageIndex,
    @Inject(embedder) private readonly model: Embedder,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.index.close?.(), this.model.close()]);
  }
}
