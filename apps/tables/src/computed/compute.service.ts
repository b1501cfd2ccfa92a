import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Row } from '@parley/contracts/tables/rows';
import { CompletionsBusy } from '@parley/openai/completions';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { TablesConfig } from '../config';
import { toRow } from '../rows/row.entity';
import { type KnownTable, TableCatalog } from '../tables/table-catalog';
import { type BatchResult, TableWorker } from '../work/table-worker';
import { type Lease, WorkRepository } from '../work/work.repository';
import { CellComputer, type Obstacle } from './cell-computer';
import { type ComputedRow, type StaleRow, StaleRowsRepository } from './stale-rows.repository';

const rowsPerBatch = 100;
/** Rows of a batch that are computed at once. */
const rowsAtOnce = 8;
/** After so long a batch begins no further row, so that tables whose rows take long leave room for others. */
const batchMs = 2_000;
/** Of those that ask a completion server, and of the others. */
const tablesAtOnce = 2;
/** How long a request waits for the columns of its row. */
const patienceMs = 5_000;
/** How often the row may change while its columns are computed for a request. */
const maxTries = 3;

/** Computes what waits for it, table by table. A result counts only if its row is still the one that was read. */
@Injectable()
export class ComputeService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly workers: TableWorker[];

  constructor(
    work: WorkRepository,
    private readonly catalog: TableCatalog,
    private readonly rows: StaleRowsRepository,
    private readonly cells: CellComputer,
    @Inject(platformToken) private readonly platform: Platform,
    { sweepIntervalMs: intervalMs, workLeaseMs: leaseMs }: TablesConfig,
  ) {
    const options = { kind: 'compute' as const, tablesAtOnce, leaseMs, intervalMs, logger: platform.logger };
    this.workers = (['asking', 'others'] as const).map(
      (tables) => new TableWorker({ ...options, tables }, work, (lease, signal) => this.batch(lease, signal)),
    );
  }

  onApplicationBootstrap(): void {
    for (const worker of this.workers) worker.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
  }

  /** Rows were just committed that wait to be computed. */
  wake(): void {
    for (const worker of this.workers) worker.wake();
  }

  /**
   * The row with its columns computed, or as far as it is when a server keeps them waiting or patience ends. One that was
   * deleted meanwhile is as it was.
   */
  async computeNow(table: KnownTable, row: Row): Promise<Row> {
    const computed = await this.computeStored(table, row.id);
    return computed ? toRow(table.columns.values(), computed) : row;
  }

  private async computeStored(table: KnownTable, id: number): Promise<StaleRow | undefined> {
    const patience = AbortSignal.timeout(patienceMs);
    for (let tries = 0; tries < maxTries && !patience.aborted; tries++) {
      const row = await this.rows.find(table.number, id);
      if (!row?.stale) return row;
      try {
        const { row: computed, obstacle } = await this.cells.compute(table, row, 0, patience);
        await this.rows.write(table, [computed]);
        if (obstacle) break;
      } catch (error) {
        if (!patience.aborted) throw error;
      }
    }
    return this.rows.find(table.number, id);
  }

  private async batch({ tableNumber, attempts }: Lease, signal: AbortSignal): Promise<BatchResult> {
    const table = await this.catalog.ofNumber(tableNumber);
    if (!table) return 'done';
    const rows = await this.rows.list(tableNumber, rowsPerBatch);
    if (rows.length === 0) return 'done';

    const { computed, obstacle } = await this.computeAll(table, rows, attempts, signal);
    if (computed.length > 0) await this.rows.write(table, computed);
    if (!obstacle) return 'more';
    this.platform.logger.warn({ err: obstacle, tableId: table.id }, 'a table waits for the completion server');
    const pauseMs = obstacle instanceof CompletionsBusy ? obstacle.retryAfterMs : 0;
    return { pauseMs, error: obstacle.message, hasProgressed: computed.length > 0 };
  }

  private async computeAll(table: KnownTable, rows: StaleRow[], pauses: number, signal: AbortSignal) {
    const end = performance.now() + batchMs;
    const computed: ComputedRow[] = [];
    let obstacle: Obstacle | undefined;
    const waiting = rows.values();
    const lane = async () => {
      for (const row of waiting) {
        const result = await this.cells.compute(table, row, pauses, signal);
        if (result.row.stale.length < row.stale!.length) computed.push(result.row);
        obstacle ??= result.obstacle;
        if (obstacle || performance.now() > end) return;
      }
    };
    const lanes = Array.from({ length: rowsAtOnce }, lane);
    await Promise.all(lanes).catch((error: unknown) => {
      // What is computed already is kept.
      if (!signal.aborted) throw error;
    });
    return { computed, obstacle };
  }
}
