import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Access } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import { tokenKind } from '@parley/secrets/token';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { GatewayConfig } from '../config';
import { networkOf } from '@parley/service/network';

type Kind = 'token' | 'user key' | 'webhook' | 'installation' | 'address' | 'operator guesses';

interface Owner {
  kind: Kind;
  key: string;
}

export interface Sender {
  address: string;
  actor: Access['actor'];
  token?: string;
  userKey?: string;
  webhookId?: string;
}

export interface ResponseHeaders {
  header(name: string, value: string): unknown;
}

/** Headers of each response while a limit is set; CORS exposes them to browsers. */
export const limitHeaders = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'];

/** LRU size, both of the counted keys and of the confirmed credentials. */
const maxNames = 50_000;
/** Longer names are stored as their hash. */
const maxNameLength = 300;

/**
 * Rate limits with a fixed window: RATE_LIMIT_BURST requests per (burst / RATE_LIMIT_PER_SECOND) seconds. A credential
 * counts for itself once it has been accepted, and for the address of its sender before that. So guessing is limited,
 * and memory does not grow with guessed tokens.
 */
@Injectable()
export class RateLimiter {
  private readonly limiter?: RateLimiterMemory;
  private readonly counted = new LRUCache<string, true>({
    ...atMostEntries(maxNames),
    dispose: (_value, name) => void this.limiter?.delete(name),
  });

  private readonly confirmed = new LRUCache<string, Owner | 'operator'>(atMostEntries(maxNames));
  private readonly countLimited: (kind: Kind) => void;

  constructor(
    private readonly config: GatewayConfig,
    @Inject(platformToken) { metrics }: Platform,
  ) {
    const { rateLimitPerSecond: perSecond, rateLimitBurst: points } = config;
    if (perSecond > 0) this.limiter = new RateLimiterMemory({ points, duration: points / perSecond, keyPrefix: '' });
    this.countLimited = metrics.counters(
      'parley_rate_limited_total',
      'Requests rejected by a rate limit, by kind of limit.',
      'of',
    );
    metrics.gauge('parley_rate_limit_names', 'Credentials and addresses with a rate limit counter.', () =>
      Promise.resolve(this.counted.size),
    );
  }

  /** Whether the credential was accepted lately, and not rejected since. */
  isConfirmed({ token, userKey }: Pick<Sender, 'token' | 'userKey'>): boolean {
    const credential = token ?? userKey;
    return credential !== undefined && this.confirmed.has(boundedKey(credential));
  }

  /** Call when the credential is rejected: it may have been revoked. */
  forgetCredential({ token, userKey }: Pick<Sender, 'token' | 'userKey'>): void {
    const credential = token ?? userKey;
    if (credential !== undefined) this.confirmed.delete(boundedKey(credential));
  }

  /**
   * Counts a request and sets the rate limit headers. Throws RateLimited. The caller calls the returned function when
   * the credential is accepted: later requests then count for the credential instead of the address.
   */
  count(sender: Sender, response: ResponseHeaders): Promise<() => void> {
    const credential = sender.token ?? sender.userKey;
    if (credential === undefined) return this.limiter ? this.countVisitor(sender, response) : uncounted;
    const name = boundedKey(credential);
    const owner = this.confirmed.get(name);
    if (!owner) return this.countUnconfirmed(sender, name, response);
    if (!this.limiter) return uncounted;
    // The operator must be able to act during an overload.
    return owner === 'operator' ? uncounted : this.take(owner, response);
  }

  /**
   * Counts a request to the webhook of an integration, whose senders have no credential. Throws RateLimited. The caller
   * calls the returned function when the webhook has answered: later requests then count for it instead of the address.
   */
  async countWebhook(webhookId: string, address: string, response: ResponseHeaders): Promise<() => void> {
    if (!this.limiter) return nothing;
    const webhook = ownerOf('installation', boundedKey(webhookId));
    if (this.confirmed.get(webhook.key)) return this.take(webhook, response);
    return this.takeUnconfirmed(ownerOf('address', networkOf(address)), webhook.key, webhook, response);
  }

  private async countVisitor({ address, webhookId }: Sender, response: ResponseHeaders): Promise<() => void> {
    await this.take(ownerOf('address', networkOf(address)), response);
    // Visitors without a user key also share one limit per webhook.
    if (webhookId !== undefined) await this.take(ownerOf('webhook', boundedKey(webhookId)), response);
    return nothing;
  }

  private async countUnconfirmed(sender: Sender, name: string, response: ResponseHeaders): Promise<() => void> {
    const kind = sender.actor === 'operator' ? 'operator guesses' : 'address';
    return this.takeUnconfirmed(
      ownerOf(kind, networkOf(sender.address)),
      name,
      ownerOfConfirmed(sender, name),
      response,
    );
  }

  private async takeUnconfirmed(
    address: Owner,
    name: string,
    confirmed: Owner | 'operator',
    response: ResponseHeaders,
  ): Promise<() => void> {
    if (this.limiter) await this.take(address, response);
    return () => {
      this.confirmed.set(name, confirmed);
      void this.limiter?.reward(address.key);
    };
  }

  private async take({ kind, key }: Owner, response: ResponseHeaders): Promise<() => void> {
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
    response.header('ratelimit-limit', String(burst));
    response.header('ratelimit-remaining', String(state.remainingPoints));
    response.header('ratelimit-reset', String(seconds));
    if (state.consumedPoints <= burst) return nothing;
    this.countLimited(kind);
    throw new ApiError(
      'RateLimited',
      `Rate limit exceeded: ${perSecond} requests per second per ${subjects[kind]}, bursts of up to ${burst}. Retry after ${seconds} s.`,
      { retryAfterSeconds: seconds },
    );
  }
}

const subjects: Record<Kind, string> = {
  token: 'token',
  'user key': 'user key',
  installation: 'webhook of an installation',
  webhook: 'bot, for all callers without a user key together',
  address: 'address without a valid credential',
  'operator guesses': 'address without a valid operator key',
};

function ownerOf(kind: Kind, name: string): Owner {
  return { kind, key: `${kind} ${name}` };
}

function ownerOfConfirmed({ token }: Sender, name: string): Owner | 'operator' {
  if (token === undefined) return ownerOf('user key', name);
  return tokenKind(token) === 'operator' ? 'operator' : ownerOf('token', name);
}

/** Bounds the memory of keys that come from outside. */
export function boundedKey(name: string): string {
  return name.length > maxNameLength ? hash('sha256', name) : name;
}

function nothing(): void {}
const uncounted = Promise.resolve(nothing);
