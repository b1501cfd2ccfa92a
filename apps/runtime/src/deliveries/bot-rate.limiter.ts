import { Injectable } from '@nestjs/common';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { RuntimeConfig } from '../config';

/** Loop guard: limits the deliveries of one bot per second in this process. */
@Injectable()
export class BotRateLimiter {
  readonly reason: string;
  private readonly limiter: RateLimiterMemory;

  constructor({ deliveriesPerBotPerSecond: points }: RuntimeConfig) {
    this.limiter = new RateLimiterMemory({ points, duration: 1 });
    this.reason = `The bot gets at most ${points} events per second.`;
  }

  /** Counts the delivery and returns 0, or returns the time in milliseconds until it may be tried again. */
  async msUntilAllowed(botId: string): Promise<number> {
    try {
      await this.limiter.consume(botId);
      return 0;
    } catch (error) {
      if (error instanceof RateLimiterRes) return Math.max(1, error.msBeforeNext);
      throw error;
    }
  }
}
