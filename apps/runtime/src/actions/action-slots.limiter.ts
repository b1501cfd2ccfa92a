import { Injectable } from '@nestjs/common';
import { KeyCounts } from '@parley/background/key-counts';
import { ApiError } from '@parley/contracts/errors';
import { RuntimeConfig } from '../config';

/** Limits the actions of one bot that this process calls at once. */
@Injectable()
export class ActionSlotsLimiter {
  private readonly underWay = new KeyCounts();

  constructor(private readonly config: RuntimeConfig) {}

  /** Throws RateLimited without a free slot. */
  async run<T>(botId: string, call: () => Promise<T>): Promise<T> {
    const { actionsPerBot } = this.config;
    if (this.underWay.count(botId) >= actionsPerBot)
      throw new ApiError(
        'RateLimited',
        `${actionsPerBot} actions of the bot are running. Does an action call itself?`,
        { retryAfterSeconds: 1 },
      );
    this.underWay.add(botId, 1);
    try {
      return await call();
    } finally {
      this.underWay.add(botId, -1);
    }
  }
}
