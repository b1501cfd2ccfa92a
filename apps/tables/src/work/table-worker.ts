import { randomUUID } from 'node:crypto';
import { Loop } from '@parley/background/loop';
import type { Logger } from '@parley/logging/logger';
import type { WorkKind } from '../computed/marks';
import type { Lease, WorkRepository, WorkTables } from './work.repository';

/** What became of a batch: nothing is left, more may be left, or nothing can be done for a while. */
export type BatchResult = 'done' | 'more' | Obstructed;

export interface Obstructed {
  /** What is asked for. The pause is longer when there were several in a row. */
  pauseMs: number;
  error: string;
  /** Something was done all the same, so that this pause is the first in a row. */
  hasProgressed?: boolean;
}

export interface TableWorkerOptions {
  kind: WorkKind;
  /** All unless said otherwise. */
  tables?: WorkTables;
  tablesAtOnce: number;
  leaseMs: number;
  /** Pause between two looks for work that nobody told of. */
  intervalMs: number;
  logger: Logger;
}

const maxPauseMs = 60_000;

/**
 * Works on tables that wait for something, a batch at a time and in turns. A table belongs to one worker of all processes
 * for as long as that shows that it is alive.
 */
export class TableWorker {
  private readonly loop: Loop;
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<void>>();

  /**
   * @param batch works on some rows of the table. Its signal says that it should end, or that the table belongs to
   *   somebody else by now. What it throws puts the table off for a while.
   */
  constructor(
    private readonly options: TableWorkerOptions,
    private readonly work: WorkRepository,
    private readonly batch: (lease: Lease, signal: AbortSignal) => Promise<BatchResult>,
  ) {
    const { kind, tables = 'all', intervalMs, logger } = options;
    this.loop = new Loop({ name: `tables.${kind}.${tables}`, intervalMs, logger }, () => this.round());
  }

  start(): void {
    this.loop.start();
  }

  wake(): void {
    this.loop.wake();
  }

  /** Ends the batches under way early and gives their tables back. */
  async stop(): Promise<void> {
    this.stopping.abort(new Error('The service stops.'));
    await this.loop.stop();
    await Promise.all(this.running);
  }

  private async round(): Promise<boolean> {
    if (this.running.size >= this.options.tablesAtOnce) {
      await Promise.race(this.running);
      return true;
    }
    const { kind, leaseMs, tables } = this.options;
    const lease = await this.work.take(kind, randomUUID(), leaseMs, tables);
    if (!lease) return false;
    const running = this.workOn(lease).finally(() => {
      this.running.delete(running);
      this.loop.wake();
    });
    this.running.add(running);
    return true;
  }

  /** Never throws: a table that cannot be given back is free again when its lease ends. */
  private async workOn(lease: Lease): Promise<void> {
    const result = await this.runBatch(lease);
    try {
      if (result === 'done') await this.work.finish(lease);
      else if (result === 'more') await this.work.requeue(lease);
      else await this.postpone(lease, result);
    } catch (error) {
      this.options.logger.warn({ err: error, ...lease }, 'a table stays taken until its lease ends');
    }
  }

  private async postpone(lease: Lease, { pauseMs, error, hasProgressed }: Obstructed): Promise<void> {
    const attempts = hasProgressed ? 0 : lease.attempts;
    await this.work.postpone(lease, Math.max(pauseMs, pauseAfter(attempts)), error, attempts + 1);
  }

  private async runBatch(lease: Lease): Promise<BatchResult> {
    const lost = new AbortController();
    const heartbeat = setInterval(() => {
      void this.work.renew(lease).then(
        (isOurs) => isOurs || lost.abort(new Error('Another worker has taken over the table.')),
        () => undefined,
      );
    }, this.options.leaseMs / 4);
    try {
      return await this.batch(lease, AbortSignal.any([this.stopping.signal, lost.signal]));
    } catch (error) {
      if (this.stopping.signal.aborted) return 'more';
      const { kind, tableNumber } = lease;
      this.options.logger.warn({ err: error, kind, tableNumber }, 'work on a table failed and is put off');
      return { pauseMs: 0, error: (error as Error).message };
    } finally {
      clearInterval(heartbeat);
    }
  }
}

/** One second after the first failure, twice as long after each further one. */
function pauseAfter(attempts: number): number {
  return Math.min(1_000 * 2 ** attempts, maxPauseMs);
}
