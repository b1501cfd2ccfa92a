import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Row } from '@parley/contracts/tables/rows';
import { Database } from '@parley/persistence/database';
import { ModelsAway, ModelsBusy } from '@parley/service/models.client';
import { type Outcome, RetryLater, ServerBusy, type Work } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { Worker } from '@parley/work-queue/worker';
import { columnsToCompute } from '../schema/dirty-flags';
import { toRow } from '../tables/row.entity';
import { type CachedTable, TableCache } from '../tables/table.cache';
import { computeRows, computeRowsByModel, indexRows } from '../tables/table-queues';
import { CellComputerService, type Obstacle } from './cell-computer.service';
import { CellRequestsService } from './cell-requests.service';
import type { RemoteColumns } from './remote-columns';
import { type ComputedRow, type ListedStaleRow, type StaleRow, StaleRowsRepository } from './stale-rows.repository';

const rowsPerBatch = 100;
const rowsAtOnce = 8;
/** Time slice: a batch starts no further row after it, so that slow tables leave room for others. */
const batchMs = 2_000;
/** Timeout of a request that waits for the computed columns of its row. */
const patienceMs = 5_000;
/** Pause between two looks at a row whose columns others compute. */
const lookMs = 100;
/** Attempts for a row that changes while its columns are computed for a request. */
const maxTries = 3;

/** Tables stay in their queue, however often computing them fails. */
const options = { concurrency: 2, attempts: Infinity };
/** Time limit of a batch: one row may need several slow answers. */
const modelTimeoutMs = 3_600_000;

/** Computes stale rows, table by table. Optimistic concurrency: a result is stored only if its row is unchanged. */
@Injectable()
export class RowComputerService {
  constructor(
    private readonly database: Database,
    private readonly tableCache: TableCache,
    private readonly rows: StaleRowsRepository,
    private readonly cells: CellComputerService,
    private readonly requests: CellRequestsService,
    private readonly queue: WorkQueue,
  ) {}

  @Worker(computeRows, options)
  async computeTable(work: Work): Promise<Outcome> {
    const { key, tenant } = work;
    const table = await this.tableCache.ofNumber(key);
    if (!table) return;
    if (!asksModel(table)) return this.computeBatch(table, work);
    await this.queue.addNow(computeRowsByModel, [{ key, tenant, payload: null }]);
  }

  @Worker(computeRowsByModel, { ...options, timeoutMs: modelTimeoutMs })
  async computeTableByModel(work: Work): Promise<Outcome> {
    const table = await this.tableCache.ofNumber(work.key);
    if (table) return this.computeBatch(table, work);
  }

  /**
   * Computes the row for a request. Columns stay stale when language models are unavailable or the timeout ends. A
   * row that was deleted meanwhile is returned unchanged.
   */
  async computeRow(table: CachedTable, row: Row): Promise<Row> {
    const computed = await this.computeStored(table, row.id);
    return computed ? toRow(table.columns.values(), computed) : row;
  }

  /** Computes some stale rows of the table. A failure of language models counts as an attempt: the pauses in a row. */
  private async computeBatch(table: CachedTable, work: Work): Promise<Outcome> {
    const remote = await this.requests.remoteColumns(table);
    const { rows, full } = await this.requests.listStale(table, remote, rowsPerBatch);
    if (rows.length === 0) return;

    const { computed, unchanged, obstacle } = await this.computeAll(table, remote, rows, work.attempt - 1, work.signal);
    if (computed.length > 0) await this.rows.writeComputed(table, computed);
    if (computed.some(({ unindexed }) => unindexed)) this.queue.wake(indexRows.name);
    const isRequested = await this.requests.request(table, remote, { rows: unchanged, full }, work);
    // Answers add the table again.
    if (!obstacle) return computed.length > 0 || isRequested || unchanged.length < rows.length ? 'more' : undefined;
    if (computed.length > 0) await this.database.transaction((tx) => work.advance(tx));
    throw failureOf(obstacle);
  }

  private async computeStored(table: CachedTable, id: number): Promise<StaleRow | undefined> {
    const patience = AbortSignal.timeout(patienceMs);
    const remote = await this.requests.remoteColumns(table);
    for (let tries = 0; tries < maxTries && !patience.aborted; tries++) {
      const row = await this.rows.findById(table.number, id);
      if (!row?.stale) return row;
      try {
        const { row: computed, obstacle } = await this.cells.compute(table, remote, row, 0, patience);
        if (computed.stale.length < row.stale.length) await this.rows.writeComputed(table, [computed]);
        if (obstacle) break;
        if (computed.stale.length > 0) return await this.waitForOthers(table, id, patience);
      } catch (error) {
        if (!patience.aborted) throw error;
      }
    }
    return this.rows.findById(table.number, id);
  }

  /** Waits until the bot and the worker of the table have computed the row. */
  private async waitForOthers(table: CachedTable, id: number, patience: AbortSignal): Promise<StaleRow | undefined> {
    for (;;) {
      const row = await this.rows.findById(table.number, id);
      if (!row?.stale || patience.aborted) return row;
      await delay(lookMs, undefined, { signal: patience }).catch(() => undefined);
    }
  }

  private async computeAll(
    table: CachedTable,
    remote: RemoteColumns,
    rows: ListedStaleRow[],
    pauses: number,
    signal: AbortSignal,
  ) {
    const end = performance.now() + batchMs;
    const computed: ComputedRow[] = [];
    const unchanged: ListedStaleRow[] = [];
    let obstacle: Obstacle | undefined;
    const waiting = rows.values();
    const computeNext = async () => {
      for (const row of waiting) {
        const result = await this.cells.compute(table, remote, row, pauses, signal);
        if (result.row.stale.length < row.stale!.length) computed.push(result.row);
        else unchanged.push(row);
        obstacle ??= result.obstacle;
        if (obstacle || performance.now() > end) return;
      }
    };
    const running = Array.from({ length: rowsAtOnce }, computeNext);
    await Promise.all(running).catch((error: unknown) => {
      // Results that are complete are kept.
      if (!signal.aborted) throw error;
    });
    return { computed, unchanged, obstacle };
  }
}

/** Attempts while the models service is away do not count. */
function failureOf(obstacle: Obstacle): Error {
  if (obstacle instanceof ModelsAway) return new RetryLater(obstacle.message, obstacle.retryAfterMs);
  return obstacle instanceof ModelsBusy ? new ServerBusy(obstacle.message, obstacle.retryAfterMs) : obstacle;
}

function asksModel(table: CachedTable): boolean {
  return columnsToCompute(table).some(({ schema }) => schema['x-zui'].computed?.action === 'ai');
}
