import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { type BotRuntime, runtime } from '@parley/contracts/admin/runtime';
import { systemCaller } from '@parley/contracts/caller';
import { newId } from '@parley/persistence/ids';
import { RecentAnswers } from './recent-answers';

const maxBots = 1_000;

/** Cache of bot runtimes: recurring events and installations, owned by admin. */
@Injectable()
export class BotRuntimes {
  private readonly answers: RecentAnswers<BotRuntime>;

  constructor(client: ParleyClient) {
    this.answers = new RecentAnswers(maxBots, (botId) =>
      client.call(runtime.get, systemCaller(newId('req')), { botId }),
    );
  }

  /** At most one second old. Throws ResourceNotFound for an unknown bot. */
  get(botId: string): Promise<BotRuntime> {
    return this.answers.get(botId);
  }

  /** Result of `look`. If a cached runtime gives undefined, it is fetched again before that is returned. */
  async find<T>(botId: string, look: (bot: BotRuntime) => T | undefined): Promise<T | undefined> {
    return look(await this.answers.get(botId, (bot) => look(bot) !== undefined));
  }
}
