import { Inject, Injectable } from '@nestjs/common';
import { EmbedderBusy, EmbedderRefused } from '@parley/passages/embedder';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { type Outcome, ServerBusy, type Work } from '@parley/work-queue/queue';
import { Worker } from '@parley/work-queue/worker';
import { isSearchable } from '../schema/dirty-flags';
import { type CachedTable, TableCache } from '../tables/table.cache';
import { indexRows } from '../tables/table-queues';
import { type EmbedderProblem, isEmbedderProblem, RowPointsService } from './row-points.service';
import { type UnindexedRow, UnindexedRowsRepository } from './unindexed-rows.repository';

const rowsPerBatch = 32;
const droppedPerBatch = 500;

/** Updates the passage index with the searchable text of rows. Idempotent: the same rows give the same points. */
@Injectable()
export class RowIndexService {
  constructor(
    private readonly tableCache: TableCache,
    private readonly rows: UnindexedRowsRepository,
    private readonly points: RowPointsService,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  /** Updates the points of some waiting rows of the table, which stays in the queue however often that fails. */
  @Worker(indexRows, { concurrency: 2, attempts: Infinity })
  async indexTable({ key: tableNumber, signal }: Work): Promise<Outcome> {
    const table = await this.tableCache.ofNumber(tableNumber);
    if (!table) return;
    if (![...table.columns.values()].some(isSearchable)) return this.points.drop(tableNumber);
    const rows = await this.rows.listUnindexed(tableNumber, rowsPerBatch);
    const problem = rows.length > 0 ? await this.index(table, rows, signal) : undefined;
    // Removed after the points are written, so that a row which was deleted meanwhile loses its new point.
    const dropped = await this.rows.listDroppedPoints(tableNumber, droppedPerBatch);
    await this.points.remove(tableNumber, dropped);
    await this.rows.deleteDroppedPoints(tableNumber, dropped);
    if (problem instanceof EmbedderBusy) throw new ServerBusy(problem.message, problem.retryAfterMs);
    if (problem) throw problem;
    if (rows.length > 0 || dropped.length > 0) return 'more';
  }

  /** Returns the error when the embedder is unavailable. Rows that the embedder refuses individually lose their point. */
  private async index(
    table: CachedTable,
    rows: UnindexedRow[],
    signal: AbortSignal,
  ): Promise<EmbedderProblem | undefined> {
    try {
      const refused = await this.writeOrRefuse(table, rows, signal);
      await this.points.remove(table.number, refused);
    } catch (error) {
      if (!isEmbedderProblem(error)) throw error;
      return error;
    }
    await this.rows.markIndexed(table.number, rows);
    return undefined;
  }

  private async writeOrRefuse(table: CachedTable, rows: UnindexedRow[], signal: AbortSignal): Promise<number[]> {
    try {
      await this.points.write(table, rows, signal);
      return [];
    } catch (error) {
      if (!(error instanceof EmbedderRefused)) throw error;
      await this.points.checkEmbedder(signal);
      const refused = await this.writeEach(table, rows, signal);
      this.platform.logger.warn({ err: error, tableId: table.id, rows: refused }, 'rows cannot be embedded');
      return refused;
    }
  }

  private async writeEach(table: CachedTable, rows: UnindexedRow[], signal: AbortSignal): Promise<number[]> {
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
