import { Injectable } from '@nestjs/common';
import { type BotTarget, targets } from '@parley/contracts/admin/targets';
import { systemCaller } from '@parley/contracts/caller';
import { newId } from '@parley/persistence/ids';
import { ParleyClient } from '@parley/transport/parley-client';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';

const maxBots = 10_000;
const ttlMs = 1_000;

/** Read-through cache of bot targets, which admin owns. Concurrent reads of one bot share a request. */
@Injectable()
export class BotTargetsCache {
  private readonly known: LRUCache<string, BotTarget>;

  constructor(client: ParleyClient) {
    this.known = new LRUCache({
      ...atMostEntries(maxBots),
      ttl: ttlMs,
      // A request that waits while its bot is forgotten gets the answer, which is not kept.
      ignoreFetchAbort: true,
      fetchMethod: (botId) => client.call(targets.getBot, systemCaller(newId('req')), { botId }),
    });
  }

  /** At most one second old. Throws ResourceNotFound for a deleted bot. */
  async get(botId: string): Promise<BotTarget> {
    return (await this.known.fetch(botId))!;
  }

  forget(botId: string): void {
    this.known.delete(botId);
  }
}
