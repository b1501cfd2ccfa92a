import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { EmbedderBusy, EmbedderRefused } from '@parley/passages/embedder';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { TablesConfig } from '../config';
import { type KnownTable, TableCatalog } from '../tables/table-catalog';
import { type BatchResult, TableWorker } from '../work/table-worker';
import { type Lease, WorkRepository } from '../work/work.repository';
import { RowPoints } from './row-points';
import { type UnindexedRow, UnindexedRowsRepository } from './unindexed-rows.repository';

const rowsPerBatch = 32;
const droppedPerBatch = 500;
const tablesAtOnce = 2;

/** Keeps the passage index in step with the searchable text of rows. Safe to repeat: it writes the same points. */
@Injectable()
export class RowIndexService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly worker: TableWorker;

  constructor(
    work: WorkRepository,
    private readonly catalog: TableCatalog,
    private readonly rows: UnindexedRowsRepository,
    private readonly points: RowPoints,
    @Inject(platformToken) private readonly platform: Platform,
    { sweepIntervalMs: intervalMs, workLeaseMs: leaseMs }: TablesConfig,
  ) {
    const options = { kind: 'index' as const, tablesAtOnce, leaseMs, intervalMs, logger: platform.logger };
    this.worker = new TableWorker(options, work, (lease, signal) => this.batch(lease, signal));
  }

  onApplicationBootstrap(): void {
    this.worker.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.worker.stop();
  }

  /** Rows were just committed whose text is to be found. */
  wake(): void {
    this.worker.wake();
  }

  private async batch({ tableNumber }: Lease, signal: AbortSignal): Promise<BatchResult> {
    const table = await this.catalog.ofNumber(tableNumber);
    if (!table) return 'done';
    const rows = await this.rows.list(tableNumber, rowsPerBatch);
    try {
      if (rows.length > 0) await this.index(table, rows, signal);
    } catch (error) {
      if (error instanceof EmbedderBusy) return { pauseMs: error.retryAfterMs, error: error.message };
      throw error;
    }
    // After the points, so that a row which was deleted meanwhile loses the one that it was just given.
    const dropped = await this.rows.listDropped(tableNumber, droppedPerBatch);
    if (rows.length === 0 && dropped.length === 0) return 'done';
    await this.points.remove(tableNumber, dropped);
    await this.rows.forgetDropped(tableNumber, dropped);
    return 'more';
  }

  /** When some rows are refused and others are not, those are at fault: they are left without a point. */
  private async index(table: KnownTable, rows: UnindexedRow[], signal: AbortSignal): Promise<void> {
    try {
      await this.points.write(table, rows, signal);
    } catch (error) {
      if (!(error instanceof EmbedderRefused) || rows.length === 1) throw error;
      const refused = await this.indexEach(table, rows, signal);
      if (refused.length === rows.length) throw error;
      this.platform.logger.warn({ err: error, tableId: table.id, rows: refused }, 'rows cannot be embedded');
    }
    await this.rows.markIndexed(table.number, rows);
  }

  private async indexEach(table: KnownTable, rows: UnindexedRow[], signal: AbortSignal): Promise<number[]> {
    const refused: number[] = [];
    for (const row of rows) {
      try {
        await this.points.write(table, [row], signal);
      } catch (error) {
        if (!(error instanceof EmbedderRefused)) throw error;
        refused.push(row.id);
      }
    }
    return refused;
  }
}
