import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Access } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import { tokenKind } from '@parley/secrets/token';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { GatewayConfig } from './config';
import { networkOf } from './network';

/** What requests are counted together by. Also what metrics tell them apart by. */
type Kind = 'token' | 'user key' | 'webhook' | 'address' | 'operator guesses';

interface Owner {
  kind: Kind;
  key: string;
}

/** What a request shows, as far as it matters here. */
export interface Sender {
  /** Network address that it came from. */
  address: string;
  actor: Access['actor'];
  token?: string;
  userKey?: string;
  webhookId?: string;
}

/** Takes the headers of the answer. */
export interface Told {
  header(name: string, value: string): unknown;
}

/** What every answer says while there are limits, for browsers to see. */
export const limitHeaders = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];

/** What is counted at once, and what is remembered to be a credential. Beyond it, what was used least recently goes. */
const maxNames = 50_000;
/** A longer name is kept as its hash. */
const maxNameLength = 300;

/**
 * How many requests a credential may make: a burst, in the time in which the limit per second allows as many. What
 * nobody has proven yet to be a credential counts for the address that it comes from, so that guessing is bounded too and
 * memory does not grow with what is guessed.
 */
@Injectable()
export class RateLimits {
  private readonly limiter?: RateLimiterMemory;
  private readonly counted = new LRUCache<string, true>({
    max: maxNames,
    dispose: (_value, name) => void this.limiter?.delete(name),
  });

  private readonly proven = new LRUCache<string, Owner | 'operator'>({ max: maxNames });
  private readonly countLimited: (kind: Kind) => void;

  constructor(
    private readonly config: GatewayConfig,
    @Inject(platformToken) { metrics }: Platform,
  ) {
    const { rateLimitPerSecond: perSecond, rateLimitBurst: points } = config;
    if (perSecond > 0) this.limiter = new RateLimiterMemory({ points, duration: points / perSecond, keyPrefix: '' });
    this.countLimited = metrics.counters(
      'parley_rate_limited_total',
      'Requests over their limit, by whose it is.',
      'of',
    );
    metrics.gauge('parley_rate_limit_names', 'Credentials and addresses whose requests are counted.', () =>
      Promise.resolve(this.counted.size),
    );
  }

  /**
   * Counts a request and says so in the headers of its answer. Throws RateLimited. Whoever learns that what it shows is
   * true calls what this gives: from then on it counts for itself.
   */
  count(sender: Sender, answer: Told): Promise<() => void> {
    if (!this.limiter) return uncounted;
    const credential = sender.token ?? sender.userKey;
    if (credential === undefined) return this.countVisitor(sender, answer);
    const owner = this.proven.get(short(credential));
    if (!owner) return this.countUnproven(sender, short(credential), answer);
    // Whoever runs the platform must be able to look and to act.
    return owner === 'operator' ? uncounted : this.take(owner, answer);
  }

  private async countVisitor({ address, webhookId }: Sender, answer: Told): Promise<() => void> {
    await this.take(ownerOf('address', networkOf(address)), answer);
    // Those whom nobody has given a key yet share what one has.
    if (webhookId !== undefined) await this.take(ownerOf('webhook', short(webhookId)), answer);
    return nothing;
  }

  private async countUnproven(sender: Sender, name: string, answer: Told): Promise<() => void> {
    const kind = sender.actor === 'operator' ? 'operator guesses' : 'address';
    const owner = ownerOf(kind, networkOf(sender.address));
    await this.take(owner, answer);
    return () => {
      this.proven.set(name, ownerOfProven(sender, name));
      void this.limiter?.reward(owner.key);
    };
  }

  private async take({ kind, key }: Owner, answer: Told): Promise<() => void> {
    if (!this.counted.get(key)) this.counted.set(key, true);
    let state: RateLimiterRes;
    try {
      state = await this.limiter!.consume(key);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      state = error;
    }
    const { rateLimitPerSecond: perSecond, rateLimitBurst: burst } = this.config;
    const seconds = Math.ceil(state.msBeforeNext / 1000);
    answer.header('ratelimit-limit', String(burst));
    answer.header('ratelimit-remaining', String(state.remainingPoints));
    answer.header('ratelimit-reset', String(seconds));
    if (state.consumedPoints <= burst) return nothing;
    this.countLimited(kind);
    throw new ApiError(
      'RateLimited',
      `${subjects[kind]} may make ${perSecond} requests a second, and ${burst} at once. Try again in ${seconds} s.`,
      { retryAfterSeconds: seconds },
    );
  }
}

const subjects: Record<Kind, string> = {
  token: 'A token',
  'user key': 'A user key',
  webhook: 'All who have no user key of a bot together',
  address: 'An address without a valid credential',
  'operator guesses': 'An address without a valid operator key',
};

function ownerOf(kind: Kind, name: string): Owner {
  return { kind, key: `${kind} ${name}` };
}

function ownerOfProven({ token }: Sender, name: string): Owner | 'operator' {
  if (token === undefined) return ownerOf('user key', name);
  return tokenKind(token) === 'operator' ? 'operator' : ownerOf('token', name);
}

/** For what is remembered under names that come from outside. */
export function short(name: string): string {
  return name.length > maxNameLength ? hash('sha256', name) : name;
}

function nothing(): void {}
const uncounted = Promise.resolve(nothing);
