import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { RuntimeConfig } from '../config';

/** Limits the actions of one bot that this process calls at once. */
@Injectable()
export class ActionSlotsLimiter {
  private readonly underWay = new Map<string, number>();

  constructor(private readonly config: RuntimeConfig) {}

  /** Throws RateLimited without a free slot. */
  async run<T>(botId: string, call: () => Promise<T>): Promise<T> {
    const { actionsPerBot } = this.config;
    const before = this.underWay.get(botId) ?? 0;
    if (before >= actionsPerBot)
      throw new ApiError(
        'RateLimited',
        `${actionsPerBot} actions of the bot are running (ACTIONS_PER_BOT). Does an action call itself?`,
        { retryAfterSeconds: 1 },
      );
    this.underWay.set(botId, before + 1);
    try {
      return await call();
    } finally {
      const after = this.underWay.get(botId)! - 1;
      if (after > 0) this.underWay.set(botId, after);
      else this.underWay.delete(botId);
    }
  }
}
