import { Inject, Injectable } from '@nestjs/common';
import type { Row } from '@parley/contracts/tables/rows';
import { CompletionsBusy } from '@parley/openai/completions';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import type { BatchResult, Lease } from '../queues/table-work.repository';
import { toRow } from '../tables/row.entity';
import { type CachedTable, TableCache } from '../tables/table.cache';
import { CellComputerService, type Obstacle } from './cell-computer.service';
import { type ComputedRow, type StaleRow, StaleRowsRepository } from './stale-rows.repository';

const rowsPerBatch = 100;
const rowsAtOnce = 8;
/** Time slice: a batch starts no further row after it, so that slow tables leave room for others. */
const batchMs = 2_000;
/** Timeout of a request that waits for the computed columns of its row. */
const patienceMs = 5_000;
/** Attempts for a row that changes while its columns are computed for a request. */
const maxTries = 3;

/** Computes stale rows, table by table. Optimistic concurrency: a result is stored only if its row is unchanged. */
@Injectable()
export class RowComputerService {
  constructor(
    private readonly tableCache: TableCache,
    private readonly rows: StaleRowsRepository,
    private readonly cells: CellComputerService,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  /**
   * Computes the row for a request. Columns stay stale when the completion server is unavailable or the timeout ends. A
   * row that was deleted meanwhile is returned unchanged.
   */
  async computeRow(table: CachedTable, row: Row): Promise<Row> {
    const computed = await this.computeStored(table, row.id);
    return computed ? toRow(table.columns.values(), computed) : row;
  }

  /** Computes some stale rows of the table. */
  async computeBatch({ tableNumber, attempts }: Lease, signal: AbortSignal): Promise<BatchResult> {
    const table = await this.tableCache.ofNumber(tableNumber);
    if (!table) return 'done';
    const rows = await this.rows.listStale(tableNumber, rowsPerBatch);
    if (rows.length === 0) return 'done';

    const { computed, obstacle } = await this.computeAll(table, rows, attempts, signal);
    if (computed.length > 0) await this.rows.writeComputed(table, computed);
    if (!obstacle) return 'more';
    this.platform.logger.warn(
      { err: obstacle, tableId: table.id },
      'computing a table waits for the completion server',
    );
    const pauseMs = obstacle instanceof CompletionsBusy ? obstacle.retryAfterMs : 0;
    return { pauseMs, error: obstacle.message, hasProgressed: computed.length > 0 };
  }

  private async computeStored(table: CachedTable, id: number): Promise<StaleRow | undefined> {
    const patience = AbortSignal.timeout(patienceMs);
    for (let tries = 0; tries < maxTries && !patience.aborted; tries++) {
      const row = await this.rows.findById(table.number, id);
      if (!row?.stale) return row;
      try {
        const { row: computed, obstacle } = await this.cells.compute(table, row, 0, patience);
        await this.rows.writeComputed(table, [computed]);
        if (obstacle) break;
      } catch (error) {
        if (!patience.aborted) throw error;
      }
    }
    return this.rows.findById(table.number, id);
  }

  private async computeAll(table: CachedTable, rows: StaleRow[], pauses: number, signal: AbortSignal) {
    const end = performance.now() + batchMs;
    const computed: ComputedRow[] = [];
    let obstacle: Obstacle | undefined;
    const waiting = rows.values();
    const computeNext = async () => {
      for (const row of waiting) {
        const result = await this.cells.compute(table, row, pauses, signal);
        if (result.row.stale.length < row.stale!.length) computed.push(result.row);
        obstacle ??= result.obstacle;
        if (obstacle || performance.now() > end) return;
      }
    };
    const running = Array.from({ length: rowsAtOnce }, computeNext);
    await Promise.all(running).catch((error: unknown) => {
      // Results that are complete are kept.
      if (!signal.aborted) throw error;
    });
    return { computed, obstacle };
  }
}
