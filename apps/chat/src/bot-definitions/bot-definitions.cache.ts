import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { type ResolvedBotDefinition, botDefinitions } from '@parley/contracts/admin/bot-definitions';
import { systemCaller } from '@parley/contracts/caller';
import { newId } from '@parley/persistence/ids';
import { CoalescingCache } from './coalescing-cache';

const maxBots = 1_000;

/** Cache of bot definitions: recurring events and installations, owned by admin. */
@Injectable()
export class BotDefinitionsCache {
  private readonly answers: CoalescingCache<ResolvedBotDefinition>;

  constructor(client: ParleyClient) {
    this.answers = new CoalescingCache(maxBots, (botId) =>
      client.call(botDefinitions.get, systemCaller(newId('req')), { botId }),
    );
  }

  /** At most one second old. Throws ResourceNotFound for an unknown bot. */
  get(botId: string): Promise<ResolvedBotDefinition> {
    return this.answers.get(botId);
  }

  /** Result of `look`. If a cached runtime gives undefined, it is fetched again before that is returned. */
  async find<T>(botId: string, look: (bot: ResolvedBotDefinition) => T | undefined): Promise<T | undefined> {
    return look(await this.answers.get(botId, (bot) => look(bot) !== undefined));
  }
}
