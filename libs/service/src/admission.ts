import { unavailable } from '@parley/contracts/errors';
import type { FastifyReply } from 'fastify';
import { loopDelayMs } from './loop-delay';
import type { Metrics } from './metrics';

export interface AdmissionOptions {
  /** What it bounds, for the metrics: few and fixed. */
  place: string;
  max: number;
  /** The event loop may be late by so much before nothing more is let in. */
  maxLoopDelayMs: number;
  metrics: Metrics;
  /** By default that of this process. */
  loopDelayMs?: () => number;
}

/** What does not fit any more. It is counted, and not an error that somebody should look at. */
export class Overloaded extends Error {}

/**
 * Lets so much be under way at once, and refuses the rest at once: who waits in a queue that only grows is answered too
 * late for all of it.
 */
export class Admission {
  private count = 0;
  private readonly countOf = new Map<string, number>();
  private readonly loopDelayMs: () => number;

  constructor(private readonly options: AdmissionOptions) {
    this.loopDelayMs = options.loopDelayMs ?? loopDelayMs;
    options.metrics.watchUnderWay(options.place, () => this.count);
  }

  /**
   * Call before anything is done, and what it gives when all is done: more than once does no harm. Throws a 503 when
   * there is no place.
   *
   * @param tenant has as many places as are free, at most: half of them alone, a third beside one more, and so on.
   */
  enter(tenant?: string): () => void {
    const { place, metrics } = this.options;
    const reason = this.reasonAgainst(tenant);
    if (!reason) return this.enterAnyway(tenant);
    metrics.countShed(place, reason);
    throw unavailable(
      'Too much is under way here just now. Nothing was done: try again in a moment.',
      new Overloaded(),
    );
  }

  /** For what may not be refused. It takes a place all the same. */
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
    if (tenant !== undefined && (this.countOf.get(tenant) ?? 0) >= free) return 'share';
    return this.loopDelayMs() > maxLoopDelayMs ? 'event loop' : undefined;
  }

  private add(tenant: string | undefined, change: 1 | -1): void {
    this.count += change;
    if (tenant === undefined) return;
    const count = (this.countOf.get(tenant) ?? 0) + change;
    if (count > 0) this.countOf.set(tenant, count);
    else this.countOf.delete(tenant);
  }
}

/** Calls it however the request ends, also when that has happened already. */
export function whenEnded({ raw }: FastifyReply, action: () => void): void {
  if (raw.destroyed) action();
  else raw.once('close', action);
}
