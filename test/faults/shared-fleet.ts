import type { EmbeddingServer } from '@parley/testing/embedding-server';
import type { Client } from 'pg';
import type { Fleet } from './fleet';

/** Running platform with one process of each app, shared by several suites in sequence. */
export interface SharedFleet {
  fleet: Fleet;
  embeddings: EmbeddingServer;
  database: Client;
}

/** Detects ended processes and unhandled errors from now on. */
export class FleetHealth {
  private readonly former: Map<string, number>;

  constructor(private readonly fleet: Fleet) {
    this.former = new Map(fleet.all.map(({ name, output }) => [name, output.length]));
  }

  problems(): string[] {
    return this.fleet.all.flatMap(({ name, isRunning, output }) => {
      const said = output.slice(this.former.get(name));
      if (!isRunning) return [`${name} has ended: ${said}`];
      return /was not (handled|caught)/.test(said) ? [`${name} says: ${said}`] : [];
    });
  }
}
