import { randomUUID } from 'node:crypto';
import { PollingWorker } from '@parley/background/polling-worker';
import { retryBackoffMs } from '@parley/background/retry-backoff';
import type { Logger } from '@parley/logging/logger';
import type { BatchResult, Lease, Obstructed, TableWorkRepository, WorkTables } from '../queues/table-work.repository';
import type { WorkKind } from '../schema/dirty-flags';

export interface TableWorkerOptions {
  kind: WorkKind;
  tables?: WorkTables;
  tablesAtOnce: number;
  leaseMs: number;
  intervalMs: number;
  logger: Logger;
}

/**
 * Worker that processes waiting tables in batches. A lease with heartbeats gives each table to one worker of all
 * processes.
 */
export class TableWorker {
  private readonly loop: PollingWorker;
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<void>>();

  /**
   * @param batch processes some rows of the table. Its signal is aborted at shutdown and when the lease is lost. An
   * error postpones the table.
   */
  constructor(
    private readonly options: TableWorkerOptions,
    private readonly work: TableWorkRepository,
    private readonly batch: (lease: Lease, signal: AbortSignal) => Promise<BatchResult>,
  ) {
    const { kind, tables = 'all', intervalMs, logger } = options;
    this.loop = new PollingWorker({ name: `tables.${kind}.${tables}`, intervalMs, logger }, () => this.round());
  }

  start(): void {
    this.loop.start();
  }

  wake(): void {
    this.loop.wake();
  }

  /** Aborts the running batches and releases their tables. */
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
    const lease = await this.work.takeTable(kind, randomUUID(), leaseMs, tables);
    if (!lease) return false;
    const running = this.workOn(lease).finally(() => {
      this.running.delete(running);
      this.loop.wake();
    });
    this.running.add(running);
    return true;
  }

  /** Never throws: a table that cannot be released becomes free when its lease expires. */
  private async workOn(lease: Lease): Promise<void> {
    const result = await this.runBatch(lease);
    try {
      if (result === 'done') await this.work.finishTable(lease);
      else if (result === 'more') await this.work.requeueTable(lease);
      else await this.postpone(lease, result);
    } catch (error) {
      this.options.logger.warn({ err: error, ...lease }, 'releasing a table failed, its lease has to expire');
    }
  }

  private async postpone(lease: Lease, { pauseMs, error, hasProgressed }: Obstructed): Promise<void> {
    const attempts = hasProgressed ? 0 : lease.attempts;
    await this.work.postponeTable(lease, Math.max(pauseMs, retryBackoffMs(attempts + 1)), error, attempts + 1);
  }

  private async runBatch(lease: Lease): Promise<BatchResult> {
    const lost = new AbortController();
    const heartbeat = setInterval(() => {
      void this.work.renewLease(lease).then(
        (isOurs) => isOurs || lost.abort(new Error('Another worker has taken over the table.')),
        () => undefined,
      );
    }, this.options.leaseMs / 4);
    try {
      return await this.batch(lease, AbortSignal.any([this.stopping.signal, lost.signal]));
    } catch (error) {
      if (this.stopping.signal.aborted) return 'more';
      const { kind, tableNumber } = lease;
      this.options.logger.warn({ err: error, kind, tableNumber }, 'work on a table failed, retrying later');
      return { pauseMs: 0, error: (error as Error).message };
    } finally {
      clearInterval(heartbeat);
    }
  }
}
