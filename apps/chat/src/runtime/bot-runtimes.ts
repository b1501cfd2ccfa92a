import { Injectable } from '@nestjs/common';
import { Bus } from '@parley/bus/bus';
import { type BotRuntime, runtime } from '@parley/contracts/admin/runtime';
import { systemCaller } from '@parley/contracts/caller';
import { newId } from '@parley/database/ids';
import { RecentAnswers } from './recent-answers';

const maxBots = 1_000;

/** What bots declare and have installed, as admin tells it. */
@Injectable()
export class BotRuntimes {
  private readonly answers: RecentAnswers<BotRuntime>;

  constructor(bus: Bus) {
    this.answers = new RecentAnswers(maxBots, (botId) => bus.call(runtime.get, systemCaller(newId('req')), { botId }));
  }

  /** At most a second old. Throws ResourceNotFound when there is no such bot. */
  get(botId: string): Promise<BotRuntime> {
    return this.answers.get(botId);
  }

  /** What `look` finds. Admin is asked afresh before the answer is that there is nothing. */
  async find<T>(botId: string, look: (bot: BotRuntime) => T | undefined): Promise<T | undefined> {
    return look(await this.answers.get(botId, (bot) => look(bot) !== undefined));
  }
}
