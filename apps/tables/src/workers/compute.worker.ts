import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { RowComputerService } from '../computed-columns/row-computer.service';
import { TablesConfig } from '../config';
import { TableWorkRepository } from '../queues/table-work.repository';
import { WorkSignalService } from '../queues/work-signal.service';
import { TableWorker } from './table.worker';

/** Concurrent tables of each of the two workers: tables with `ai` columns and tables without. */
const tablesAtOnce = 2;

@Injectable()
export class ComputeWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly workers: TableWorker[];

  constructor(
    queue: TableWorkRepository,
    signals: WorkSignalService,
    computer: RowComputerService,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs, workLeaseMs: leaseMs }: TablesConfig,
  ) {
    const options = { kind: 'compute' as const, tablesAtOnce, leaseMs, intervalMs, logger };
    this.workers = (['asking', 'others'] as const).map(
      (tables) =>
        new TableWorker({ ...options, tables }, queue, (lease, signal) => computer.computeBatch(lease, signal)),
    );
    signals.onWork('compute', () => this.workers.forEach((worker) => worker.wake()));
  }

  onApplicationBootstrap(): void {
    this.workers.forEach((worker) => worker.start());
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
  }
}
