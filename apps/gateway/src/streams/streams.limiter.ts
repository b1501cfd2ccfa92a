import { Inject, Injectable } from '@nestjs/common';
import type { Listener } from '@parley/contracts/chat/signals';
import { ApiError } from '@parley/contracts/errors';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { GatewayConfig } from '../config';

/** Stream limits per gateway: per user, and the fraction of all streams for the users of one bot. */
const maxPerUser = 20;
const botFraction = 0.05;

/** Load shedding and fair shares of streams. */
@Injectable()
export class StreamsLimiter {
  private readonly maxPerBot: number;
  private readonly countByOwner = new Map<string, number>();
  private openCount = 0;
  /** Pending authorization requests; they count towards the stream limit. */
  private authorizing = 0;

  constructor(
    private readonly config: GatewayConfig,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    const { metrics } = platform;
    this.maxPerBot = Math.max(maxPerUser, Math.floor(config.listenMaxStreams * botFraction));
    metrics.gauge('parley_streams_open', 'Open streams of live chat signals, including those that are opening.', () =>
      Promise.resolve(this.openCount),
    );
    metrics.watchUnderWay('streams', () => this.openCount + this.authorizing);
  }

  /**
   * Runs an authorization request, which counts as a stream because it may become one. Then counts the stream until the
   * returned function `leave` is called. Throws RateLimited at a limit. Fair share: one user cannot use all streams of a
   * bot, nor one bot all streams of the gateway.
   */
  async enter<T>(authorize: () => Promise<Listener>, open: (listener: Listener, leave: () => void) => T): Promise<T> {
    if (this.openCount + this.authorizing >= this.config.listenMaxStreams) {
      this.platform.metrics.countShed('streams', 'under way');
      throw retryLater('This gateway has reached its limit of open streams.');
    }
    this.authorizing += 1;
    let listener: Listener;
    try {
      listener = await authorize();
    } finally {
      this.authorizing -= 1;
    }
    const leave = this.countStream(listener);
    try {
      return open(listener, leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  private countStream({ botId, userId }: Listener): () => void {
    const [user, bot] = [`user ${botId} ${userId}`, `bot ${botId}`];
    if (this.countOf(user) >= maxPerUser)
      this.refuseShare(`Too many open streams: at most ${maxPerUser} per user key.`);
    if (this.countOf(bot) >= this.maxPerBot)
      this.refuseShare(`Too many open streams: at most ${this.maxPerBot} per bot at each gateway.`);
    this.change([user, bot], 1);
    return () => this.change([user, bot], -1);
  }

  private refuseShare(limit: string): never {
    this.platform.metrics.countShed('streams', 'share');
    throw retryLater(limit);
  }

  private countOf(owner: string): number {
    return this.countByOwner.get(owner) ?? 0;
  }

  private change(owners: string[], by: 1 | -1): void {
    this.openCount += by;
    for (const owner of owners) {
      const count = this.countOf(owner) + by;
      if (count > 0) this.countByOwner.set(owner, count);
      else this.countByOwner.delete(owner);
    }
  }
}

/** RateLimited (429), because clients never stop reconnecting after a 5xx. */
export function retryLater(what: string, cause?: unknown): ApiError {
  return new ApiError('RateLimited', `${what} Retry after 1 s.`, { retryAfterSeconds: 1, cause });
}
