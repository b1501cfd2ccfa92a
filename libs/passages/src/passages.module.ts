import { type DynamicModule, Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Database, type Sql } from '@parley/database/database';
import type { PassagesConfig } from './config';
import type { Embedder } from './embedder';
import { openEmbedder, openIndex } from './open';
import type { KnownModel } from './passage-index';
import { embedder, passageIndex } from './tokens';

/**
 * The embedder and the passage index of a service. The local index keeps its points in the schema of that service, which
 * has LocalIndex1700000000200 and LocalIndexModels1700000000210 among its migrations.
 */
@Module({})
export class PassagesModule {
  /** @param knownModels of a service that has points of more than the configured model. */
  static register(config: PassagesConfig, knownModels?: (sql: Sql) => Promise<KnownModel[]>): DynamicModule {
    return {
      module: PassagesModule,
      providers: [
        { provide: embedder, useFactory: () => openEmbedder(config) },
        {
          provide: passageIndex,
          useFactory: (database: Database, model: Embedder) =>
            openIndex(config, database, model, knownModels && ((within = database) => knownModels(within))),
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
