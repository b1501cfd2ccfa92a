import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { type ResolvedBotDefinition, botDefinitions } from '@parley/contracts/admin/bot-definitions';
import { systemCaller } from '@parley/contracts/caller';
import { newId } from '@parley/persistence/ids';
import { CoalescingCache } from './coalescing-cache';

const maxBots = 1_000;

/** Cache of bot definitions (states, recurring events and installations), which admin owns. */
@Injectable()
export class BotDefinitionsCache {
  private readonly definitions: CoalescingCache<ResolvedBotDefinition>;

  constructor(client: ParleyClient) {
    this.definitions = new CoalescingCache(maxBots, (botId) =>
      client.call(botDefinitions.get, systemCaller(newId('req')), { botId }),
    );
  }

  /** At most one second old. Throws ResourceNotFound for an unknown bot. */
  get(botId: string): Promise<ResolvedBotDefinition> {
    return this.definitions.get(botId);
  }

  /** Result of `select`. If a cached definition gives undefined, it is fetched again before that is returned. */
  async find<T>(botId: string, select: (bot: ResolvedBotDefinition) => T | undefined): Promise<T | undefined> {
    return select(await this.definitions.get(botId, (bot) => select(bot) !== undefined));
  }
}
