import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { TablesConfig } from '../config';
import { TableWorkRepository } from '../queues/table-work.repository';
import { WorkSignalService } from '../queues/work-signal.service';
import { RowIndexService } from '../search/row-index.service';
import { TableWorker } from './table.worker';

const tablesAtOnce = 2;

@Injectable()
export class RowIndexWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly worker: TableWorker;

  constructor(
    queue: TableWorkRepository,
    signals: WorkSignalService,
    index: RowIndexService,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs, workLeaseMs: leaseMs }: TablesConfig,
  ) {
    const options = { kind: 'index' as const, tablesAtOnce, leaseMs, intervalMs, logger };
    this.worker = new TableWorker(options, queue, (lease, signal) => index.indexBatch(lease, signal));
    signals.onWork('index', () => this.worker.wake());
  }

  onApplicationBootstrap(): void {
    this.worker.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.worker.stop();
  }
}
