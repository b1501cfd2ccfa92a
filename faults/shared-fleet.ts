import type { EmbeddingServer } from '@parley/testing/embedding-server';
import type { Client } from 'pg';
import type { Fleet } from './fleet';

/** Largest body of a message in the shared fleet: above the 8 MB of one NATS message, below the gateway's own limits. */
export const maxBodyBytes = 20_000_000;

/** A running platform with one process of each app that several behaviours use, one after the other. */
export interface SharedFleet {
  fleet: Fleet;
  embeddings: EmbeddingServer;
  database: Client;
}

/** Watches that no process ends and that each of them handles every error, from now on. */
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
