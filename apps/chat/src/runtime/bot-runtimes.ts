import { Injectable } from '@nestjs/common';
import { Bus } from '@parley/bus/bus';
import { type BotRuntime, runtime } from '@parley/contracts/admin/runtime';
import { systemCaller } from '@parley/contracts/caller';
import { newId } from '@parley/database/ids';
import { LRUCache } from 'lru-cache';

/** Admin's answer is believed for as long. */
const ttlMs = 1_000;
const maxBots = 1_000;

/** What bots declare and have installed, as admin tells it. */
@Injectable()
export class BotRuntimes {
  private readonly known = new LRUCache<string, BotRuntime>({
    max: maxBots,
    ttl: ttlMs,
    fetchMethod: (botId) => this.bus.call(runtime.get, systemCaller(newId('req')), { botId }),
  });

  constructor(private readonly bus: Bus) {}

  /** At most a second old. Throws ResourceNotFound when there is no such bot. */
  async get(botId: string): Promise<BotRuntime> {
    return (await this.known.fetch(botId))!;
  }

  /** What `look` finds. Admin is asked afresh before the answer is that there is nothing. */
  async find<T>(botId: string, look: (bot: BotRuntime) => T | undefined): Promise<T | undefined> {
    const wasKnown = this.known.has(botId);
    const found = look(await this.get(botId));
    if (found !== undefined || !wasKnown) return found;
    return look((await this.known.fetch(botId, { forceRefresh: true }))!);
  }
}
