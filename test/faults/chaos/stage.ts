import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalPostgres, startLocalPostgres } from '@parley/local-postgres/local-postgres';
import { BreakableLink } from '@parley/testing/breakable-link';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import type { Examined } from '../checker/checker';
import { type AppName, Fleet, type FleetOptions } from '../fleet';
import { clearStores, type Stores } from './stores';

export const withDatabase = ['admin', 'hub', 'files', 'files-worker', 'tables', 'chat', 'runtime', 'models'] as const;
export type AppWithDatabase = (typeof withDatabase)[number];

/** Distributed mode with two processes of each app, its own durable Postgres, and a breakable link to it per app. */
export class Stage {
  private constructor(
    readonly fleet: Fleet,
    readonly postgres: LocalPostgres,
    readonly links: Map<AppName, BreakableLink>,
    private readonly stores: Stores,
    private readonly undo: (() => Promise<unknown>)[],
  ) {}

  static async open(
    stores: Stores = { env: {} },
    replicasOf: FleetOptions['replicasOf'] = {},
    release?: string,
  ): Promise<Stage> {
    const undo: (() => Promise<unknown>)[] = [];
    try {
      const folder = await mkdtemp(join(tmpdir(), 'parley-chaos-'));
      undo.push(() => rm(folder, { recursive: true, force: true }));
      // As root, Postgres runs as another user, which must pass through the folder.
      await chmod(folder, 0o711);
      const postgres = await startLocalPostgres({ folder, settings: { max_connections: 300 } });
      undo.push(() => postgres.stop());
      undo.push(() => clearStores(stores));
      const embeddings = await EmbeddingServer.start();
      undo.push(() => embeddings.stop());
      const links = new Map<AppName, BreakableLink>();
      for (const name of withDatabase) {
        const link = await BreakableLink.to(postgres.url);
        links.set(name, link);
        undo.push(() => link.stop());
      }
      const fleet = await Fleet.start({
        replicas: 2,
        replicasOf,
        release,
        isSecured: true,
        databaseUrl: postgres.url,
        env: {
          EMBEDDINGS_URL: embeddings.url,
          SWEEP_INTERVAL_MS: '500',
          LOG_LEVEL: 'warn',
          DATABASE_TIMEOUT_MS: '3000',
          ...stores.env,
        },
        envOf: Object.fromEntries([...links].map(([name, { url }]) => [name, { DATABASE_URL: url }])),
      });
      undo.push(() => fleet.stop());
      return new Stage(fleet, postgres, links, stores, undo);
    } catch (error) {
      await stopAll(undo);
      throw error;
    }
  }

  get examined(): Examined {
    const { url, token, workspaceId, databaseUrl, blobsDir } = this.fleet;
    const { bucket, qdrant } = this.stores;
    return { url, token, workspaceId, databaseUrl, blobsDir, bucket, qdrant };
  }

  async close(): Promise<void> {
    await stopAll(this.undo);
  }
}

async function stopAll(undo: (() => Promise<unknown>)[]): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step();
}
