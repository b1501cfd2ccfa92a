import type { Logger } from '@parley/logging/logger';
import { LeaseLost } from './queue';
import type { LeaseOf, WorkRepository } from './work.repository';

/** Lease that this process holds. */
export interface HeldLease extends LeaseOf {
  leaseMs: number;
  /** Aborted with LeaseLost when the lease is lost; its holder may abort it for other reasons. */
  work: AbortController;
  /** By the monotonic clock of this process, no later than the end in the database. */
  endsAt: number;
}

const beatsPerLease = 3;

/** Heartbeats of all work that runs in this process: one statement for all leases that are due for renewal. */
export class Leases {
  private readonly held = new Set<HeldLease>();
  private timer?: NodeJS.Timeout;
  private beating?: Promise<void>;

  constructor(
    private readonly work: WorkRepository,
    private readonly logger: Logger,
  ) {}

  /** @param claimedAt `performance.now()` before the claim was sent */
  hold({ queue, key, lease }: LeaseOf, leaseMs: number, claimedAt: number): HeldLease {
    const held = { queue, key, lease, leaseMs, work: new AbortController(), endsAt: claimedAt + leaseMs };
    this.held.add(held);
    this.schedule();
    return held;
  }

  release(held: HeldLease): void {
    this.held.delete(held);
  }

  /** Aborts the work of all leases, which stay held until their work has ended. */
  abortAll(reason: Error): void {
    for (const { work } of this.held) work.abort(reason);
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.beating;
  }

  private schedule(): void {
    if (this.timer || this.beating || this.held.size === 0) return;
    const shortestMs = Math.min(...[...this.held].map(({ leaseMs }) => leaseMs));
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.beating = this.beat().finally(() => {
        this.beating = undefined;
        this.schedule();
      });
    }, shortestMs / beatsPerLease);
  }

  private async beat(): Promise<void> {
    this.loseEnded();
    const leases = [...this.held];
    if (leases.length === 0) return;
    const sentAt = performance.now();
    try {
      const lost = new Set((await this.work.renewLeases(leases)).map(({ lease: id, key }) => `${id} ${key}`));
      for (const held of leases) {
        if (lost.has(`${held.lease} ${held.key}`)) this.lose(held);
        else held.endsAt = sentAt + held.leaseMs;
      }
    } catch (error) {
      // The lease is good until its end: the next heartbeat may renew it.
      this.logger.warn({ err: error, leases: leases.length }, 'leases of background work could not be renewed');
    }
    this.loseEnded();
  }

  /** A process that was frozen, or had no database, must not go on with work that others may have. */
  private loseEnded(): void {
    const now = performance.now();
    for (const held of this.held) if (held.endsAt <= now) this.lose(held);
  }

  private lose(held: HeldLease): void {
    if (this.held.delete(held)) held.work.abort(new LeaseLost('The lease of the work is lost.'));
  }
}
