import { KeyCounts } from '@parley/background/key-counts';
import { PollingWorker } from '@parley/background/polling-worker';
import { retryBackoffMs } from '@parley/background/retry-backoff';
import type { Transaction } from '@parley/persistence/database';
import type { Logger } from '@parley/logging/logger';
import { continueTrace, isTracing } from '@parley/tracing/tracing';
import type { HeldLease, Leases } from './leases';
import {
  type FailureHandler,
  GiveUp,
  Interrupted,
  LeaseLost,
  type Outcome,
  Park,
  type Queue,
  RetryAfter,
  RetryLater,
  ServerBusy,
  type Work,
  type WorkerOptions,
  type WorkHandler,
  Yield,
} from './queue';
import type { LeasedWork, WorkRepository } from './work.repository';

/** End of an attempt, for metrics. */
export type AttemptEnd = 'finished' | 'more' | 'retried' | 'postponed' | 'parked' | 'failed' | 'lost' | 'given back';

export interface WorkerContext {
  work: WorkRepository;
  leases: Leases;
  /** Name of this process. */
  worker: string;
  logger: Logger;
  stopping: AbortSignal;
  /** Requests a look for due work. */
  pollIn: (ms: number) => void;
  /** Requests a look for queued work that waits for nothing. */
  repairSoon: () => void;
  onAttemptEnded?: (queue: string, end: AttemptEnd) => void;
}

/** Claims repeat after a failure of the database; otherwise they wait to be woken. */
const retryClaimMs = 1_000;
const defaults = { leaseMs: 15_000, attempts: 10, timeoutMs: 600_000, perTenant: Infinity, heldTenants: () => [] };
const crashed = 'Every process that worked on it ended.';

/** Worker of one queue in this process: claims as much work as it has free places. */
export class QueueWorker {
  private readonly options: Required<WorkerOptions>;
  private readonly running = new Set<Promise<void>>();
  private readonly runningOf = new KeyCounts();
  /** Free places that a statement under way may fill. */
  private reserved = 0;
  private readonly claiming: PollingWorker;
  /** False when the last claim saw less than it asked for, and before the first poll, until something is added. */
  private mayHaveMore = false;
  /** The last claim may have left work that it saw: the end of any work is the next occasion. */
  private mayHaveSkipped = true;
  /** Tenants whose work the last claim did not look at: the end of their limit is the next occasion. */
  private skippedTenants = new Set<string>();

  constructor(
    private readonly queue: Queue,
    options: WorkerOptions,
    private readonly handle: WorkHandler<unknown>,
    private readonly onFailed: FailureHandler | undefined,
    private readonly context: WorkerContext,
  ) {
    this.options = { ...defaults, ...options };
    const { logger } = context;
    this.claiming = new PollingWorker({ name: queue.name, intervalMs: Infinity, logger }, () => this.claim());
  }

  get attempts(): number {
    return this.options.attempts;
  }

  start(): void {
    this.claiming.start();
  }

  wake(): void {
    this.mayHaveMore = true;
    this.claiming.wake();
  }

  /** Reserves free places for work that starts as it is added, unless other work may wait for them. Returns the number. */
  reserve(): number {
    if (this.mayHaveMore || this.context.stopping.aborted) return 0;
    const places = this.freePlaces;
    this.reserved += places;
    return places;
  }

  /** Gives reserved places back and starts the work that was added for them. */
  async startAdded(places: number, works: LeasedWork[], addedAt: number): Promise<void> {
    this.reserved -= places;
    await this.startAll(works, addedAt);
    if (this.mayHaveMore) this.claiming.wake();
  }

  async stop(): Promise<void> {
    await this.claiming.stop();
    await Promise.all(this.running);
  }

  private async claim(): Promise<boolean> {
    const { leaseMs, perTenant } = this.options;
    const { work, worker, stopping } = this.context;
    const limit = this.freePlaces;
    if (!this.mayHaveMore || limit === 0 || stopping.aborted) return false;
    this.mayHaveMore = false;
    // Work that ends during the claim may be the occasion.
    this.mayHaveSkipped = true;
    const claimedAt = performance.now();
    try {
      this.skippedTenants = this.limitedTenants();
      const limits = {
        worker,
        leaseMs,
        limit,
        perTenant,
        running: this.runningOf,
        skippedTenants: this.skippedTenants,
      };
      this.reserved += limit;
      const claimed = await work.claimWork(this.queue, limits).finally(() => (this.reserved -= limit));
      await this.startAll(claimed, claimedAt);
      if (stopping.aborted) return false;
      const seen = claimed[0]?.seen ?? claimed.length;
      this.mayHaveSkipped = claimed.length === 0 || seen > claimed.length;
      this.mayHaveMore ||= claimed.length > 0 && seen >= limit;
      return this.mayHaveMore;
    } catch (error) {
      this.mayHaveMore = true;
      this.claiming.wakeIn(retryClaimMs);
      throw error;
    }
  }

  private limitedTenants(): Set<string> {
    const full = [...this.runningOf].filter(([, count]) => count >= this.options.perTenant);
    return new Set([...this.options.heldTenants(), ...full.map(([tenant]) => tenant)]);
  }

  private mayLookAgain(): boolean {
    if (this.skippedTenants.size === 0) return false;
    const limited = this.limitedTenants();
    return [...this.skippedTenants].some((tenant) => !limited.has(tenant));
  }

  private get freePlaces(): number {
    return this.options.concurrency - this.running.size - this.reserved;
  }

  private async startAll(works: LeasedWork[], claimedAt: number): Promise<void> {
    const { work, stopping } = this.context;
    // The stop began meanwhile: nothing would abort this work.
    if (stopping.aborted) await Promise.all(works.map((each) => work.giveBackWork(each)));
    else for (const each of works) this.startWork(each, claimedAt);
  }

  private startWork(work: LeasedWork, claimedAt: number): void {
    const { tenant } = work;
    this.runningOf.add(tenant, 1);
    const running = this.run(work, claimedAt).finally(() => {
      this.running.delete(running);
      this.runningOf.add(tenant, -1);
      this.mayHaveMore ||= this.options.perTenant < Infinity && (this.mayHaveSkipped || this.mayLookAgain());
      this.claiming.wake();
    });
    this.running.add(running);
  }

  /** Never throws: work that cannot be settled is claimed again when its lease has ended. */
  private async run(work: LeasedWork, claimedAt: number): Promise<void> {
    const { leases, logger, onAttemptEnded, pollIn, repairSoon } = this.context;
    const lease = leases.hold(work, this.options.leaseMs, claimedAt);
    let end: AttemptEnd = 'lost';
    try {
      end = await this.attempt(work, lease);
      onAttemptEnded?.(this.queue.name, end);
    } catch (error) {
      logger.warn({ err: error, queue: work.queue, key: work.key }, 'background work could not be settled');
      repairSoon();
    } finally {
      leases.release(lease);
      if (end === 'lost') pollIn(0);
    }
  }

  private async attempt(work: LeasedWork, lease: HeldLease): Promise<AttemptEnd> {
    if (work.attempt > this.options.attempts) return this.fail(work, work.lastError ?? crashed);
    let outcome: Outcome;
    try {
      outcome = await this.inTime(lease, () => this.traced(this.toWork(work, lease)));
    } catch (error) {
      return this.settleFailure(work, lease, error);
    }
    return this.settle(work, outcome);
  }

  private async settle(work: LeasedWork, outcome: Outcome): Promise<AttemptEnd> {
    if (outcome === 'more') {
      await this.context.work.requeueWork(work);
      this.wake();
      return 'more';
    }
    if (await this.context.work.finishWork(work)) this.wake();
    return 'finished';
  }

  private async settleFailure(work: LeasedWork, { work: { signal } }: HeldLease, error: unknown): Promise<AttemptEnd> {
    const { work: rows, logger, pollIn, stopping } = this.context;
    if (signal.reason instanceof LeaseLost) return 'lost';
    if (error instanceof GiveUp) return this.fail(work, error.message);
    if (error instanceof Park) {
      const { waitsFor, until, message } = error;
      await rows.parkWork(work, { waitsFor, until, error: message });
      pollIn(Math.max(0, until.getTime() - Date.now()));
      return 'parked';
    }
    if (error instanceof RetryLater) {
      await rows.postponeWork(work, { pauseMs: error.pauseMs, error: error.message, counts: 'nothing' });
      pollIn(error.pauseMs);
      return 'postponed';
    }
    if (error instanceof Yield) {
      if (await rows.yieldWork(work, { ...error, error: error.message })) this.wake();
      pollIn(error.pauseMs);
      return 'postponed';
    }
    if (stopping.aborted) {
      await rows.giveBackWork(work);
      return 'given back';
    }
    if (error instanceof RetryAfter && work.attempt < this.options.attempts) {
      await rows.postponeWork(work, { pauseMs: error.pauseMs, error: error.message, counts: 'failure' });
      pollIn(error.pauseMs);
      return 'retried';
    }
    if (error instanceof Interrupted && work.attempt < this.options.attempts) {
      const pauseMs = retryBackoffMs(work.attempt - work.failures);
      await rows.postponeWork(work, { pauseMs, error: error.message, counts: 'attempt' });
      pollIn(pauseMs);
      return 'retried';
    }
    const about = { err: error, queue: work.queue, key: work.key, attempt: work.attempt };
    const reason = error instanceof Error ? error.message : String(error);
    if (work.attempt >= this.options.attempts) {
      logger.error(about, 'background work is given up');
      return this.fail(work, reason);
    }
    logger.warn(about, 'background work failed, retrying later');
    const pauseMs = Math.max(retryBackoffMs(work.attempt), error instanceof ServerBusy ? error.retryAfterMs : 0);
    await rows.postponeWork(work, { pauseMs, error: reason, counts: 'attempt' });
    pollIn(pauseMs);
    return 'retried';
  }

  private async fail(work: LeasedWork, reason: string): Promise<AttemptEnd> {
    const { key, tenant, payload, attempt: attempts } = work;
    if (this.onFailed) await this.onFailed({ key, tenant, payload, attempts }, reason);
    const rows = this.context.work;
    if (await (this.onFailed ? rows.finishWork(work) : rows.failWork(work, reason))) this.wake();
    return 'failed';
  }

  /** Rejects when the time limit has passed, even if the handler goes on. */
  private async inTime(lease: HeldLease, handle: () => Promise<Outcome>): Promise<Outcome> {
    const { timeoutMs } = this.options;
    if (timeoutMs === Infinity) return handle();
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        const error = new Error(`The attempt took longer than ${timeoutMs / 1_000} s.`);
        lease.work.abort(error);
        reject(error);
      }, timeoutMs);
    });
    try {
      return await Promise.race([handle(), limit]);
    } finally {
      clearTimeout(timer);
    }
  }

  private traced(handed: Work): Promise<Outcome> {
    const { traceparent } = handed;
    // Work of no request begins no trace.
    if (!isTracing() || !traceparent) return this.handle(handed);
    const start = {
      name: `work ${this.queue.name}`,
      kind: 'consumer' as const,
      attributes: { queue: this.queue.name },
    };
    return continueTrace(traceparent, start, () => this.handle(handed));
  }

  private toWork(work: LeasedWork, lease: HeldLease): Work {
    const { key, tenant, payload, attempt, failures, lastError, createdAt } = work;
    const traceparent = work.traceparent ?? undefined;
    const { work: rows } = this.context;
    const { signal } = lease.work;
    const requireLease = (isHeld: boolean) => {
      if (!isHeld) lease.work.abort(new LeaseLost('The lease of the work is lost.'));
      signal.throwIfAborted();
    };
    const confirm = async (tx: Transaction) => requireLease(await rows.lockLease(tx, work));
    const advance = async (tx: Transaction) => {
      requireLease(await rows.recordProgress(tx, work));
      work.attempt = 1;
      work.failures = 0;
    };
    return { key, tenant, payload, attempt, failures, lastError, traceparent, createdAt, signal, confirm, advance };
  }
}
