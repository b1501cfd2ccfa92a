import { KeyCounts } from '@parley/background/key-counts';
import { unavailable } from '@parley/contracts/errors';
import type { FastifyReply } from 'fastify';
import { loopDelayMs } from './loop-delay';
import type { Metrics } from './metrics';

export interface ConcurrencyLimiterOptions {
  /** Label value for the metrics, from a small fixed set. */
  place: string;
  max: number;
  maxLoopDelayMs: number;
  metrics: Metrics;
  loopDelayMs?: () => number;
}

/** Cause of a 503 by load shedding. It is counted in the metrics and not logged as an error. */
export class Overloaded extends Error {}

/**
 * Load shedding: a concurrency limit that rejects requests at once instead of queueing them. In a queue that only
 * grows, all answers come too late.
 */
export class ConcurrencyLimiter {
  private count = 0;
  private readonly countOf = new KeyCounts();
  private readonly loopDelayMs: () => number;

  constructor(private readonly options: ConcurrencyLimiterOptions) {
    this.loopDelayMs = options.loopDelayMs ?? loopDelayMs;
    options.metrics.watchUnderWay(options.place, () => this.count);
  }

  /**
   * Takes a slot before any work is done. Returns an idempotent function that frees it. Throws a 503 when there is
   * none.
   *
   * @param tenant may hold as many slots as are free: half of them alone, a third beside an equal tenant, and so on.
   */
  enter(tenant?: string): () => void {
    const { place, metrics } = this.options;
    const reason = this.reasonAgainst(tenant);
    if (!reason) return this.enterAnyway(tenant);
    metrics.countShed(place, reason);
    throw unavailable('The server is overloaded; the request was not processed. Retry after 1 s.', new Overloaded());
  }

  /** For requests that must not be rejected. They still take a slot. */
  enterAnyway(tenant?: string): () => void {
    this.add(tenant, 1);
    let isIn = true;
    return () => {
      if (isIn) this.add(tenant, -1);
      isIn = false;
    };
  }

  private reasonAgainst(tenant: string | undefined): string | undefined {
    const { max, maxLoopDelayMs } = this.options;
    const free = max - this.count;
    if (free <= 0) return 'under way';
    if (tenant !== undefined && this.countOf.count(tenant) >= free) return 'share';
    return this.loopDelayMs() > maxLoopDelayMs ? 'event loop' : undefined;
  }

  private add(tenant: string | undefined, change: 1 | -1): void {
    this.count += change;
    if (tenant !== undefined) this.countOf.add(tenant, change);
  }
}

/** Runs the action when the request ends in any way, or at once when it has ended. */
export function whenEnded({ raw }: Pick<FastifyReply, 'raw'>, action: () => void): void {
  if (raw.destroyed) action();
  else raw.once('close', action);
}
