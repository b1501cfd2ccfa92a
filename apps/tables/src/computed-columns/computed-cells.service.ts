import { Injectable } from '@nestjs/common';
import { ifFound } from '@parley/contracts/errors';
import type { CellsComputed, ComputedCells } from '@parley/contracts/tables/computations';
import { Database } from '@parley/persistence/database';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import type { TableColumn } from '../schema/columns';
import { dependenciesOf } from '../schema/column-dependencies';
import { type CachedTable, TableCache } from '../tables/table.cache';
import { computeRows, indexRows } from '../tables/table-queues';
import { RowUnderWay } from './cell-fit';
import { CellRequestsService } from './cell-requests.service';
import type { RemoteColumns } from './remote-columns';
import { RequestedCellsRepository } from './requested-cells.repository';
import { type ComputedRow, type StaleRow, StaleRowsRepository } from './stale-rows.repository';

/** Attempts to store cells of rows that change meanwhile. Then they are requested again. */
const maxTries = 3;

/** Stores the cells that bots and workflows have computed. */
@Injectable()
export class ComputedCellsService {
  constructor(
    private readonly database: Database,
    private readonly tableCache: TableCache,
    private readonly requests: CellRequestsService,
    private readonly cells: RequestedCellsRepository,
    private readonly rows: StaleRowsRepository,
    private readonly queue: WorkQueue,
  ) {}

  /**
   * Idempotent: a cell is stored only while it is stale and its row has the version that was requested. The table is
   * queued again for cells that were not stored, and for columns that depend on the stored ones.
   */
  async store({ botId, tableId, rows: answers }: CellsComputed): Promise<void> {
    const table = await ifFound(this.tableCache.current(botId, tableId));
    if (!table) return;
    const remote = await this.requests.remoteColumns(table);
    let left = answers;
    for (let tries = 0; tries < maxTries && left.length > 0; tries++) left = await this.tryStore(table, remote, left);
    await this.database.transaction(async (tx) => {
      await this.cells.deleteAnswered(tx, table.number, answers);
      await this.queue.add(tx, computeRows, [{ key: table.number, tenant: botId, payload: null }]);
    });
  }

  /** Returns the answers whose rows changed between reading and writing. */
  private async tryStore(
    table: CachedTable,
    remote: RemoteColumns,
    answers: ComputedCells[],
  ): Promise<ComputedCells[]> {
    const rows = await this.rows.listByIds(table.number, [...new Set(answers.map(({ rowId }) => rowId))]);
    const found = answers.flatMap((answer) => {
      const row = rows.find(({ id }) => id === answer.rowId);
      const computed = row && computedRow(table, remote, row, answer);
      return computed ? [{ answer, computed }] : [];
    });
    if (found.length === 0) return [];
    const computed = found.map((each) => each.computed);
    const written = new Set(await this.rows.writeComputed(table, computed));
    if (computed.some(({ unindexed }) => unindexed)) this.queue.wake(indexRows.name);
    return found.flatMap(({ answer }) => (written.has(answer.rowId) ? [] : [answer]));
  }
}

/** Undefined if the answer belongs to another version of the row, or has no stale cell of it. */
function computedRow(
  table: CachedTable,
  remote: RemoteColumns,
  row: StaleRow,
  { columns: names, version, cells }: ComputedCells,
): ComputedRow | undefined {
  const group = names.flatMap((name) => table.columns.get(name) ?? []);
  const isRemote = group.length === names.length && group.every((column) => remote.has(column));
  if (!isRemote || remote.versionOf(inOrder(remote, group), row) !== version) return undefined;
  const stale = new Set(row.stale);
  const underWay = new RowUnderWay(table, row);
  for (const column of inOrder(remote, group)) {
    const outcome = Object.hasOwn(cells, column.name) ? cells[column.name] : undefined;
    const waits = dependenciesOf(column, table.columns).some((name) => stale.has(table.columns.get(name)!.key));
    if (!outcome || waits || !stale.has(column.key)) continue;
    underWay.set(column, outcome.error === undefined ? { value: outcome.value } : { error: outcome.error });
    stale.delete(column.key);
  }
  if (stale.size === (row.stale?.length ?? 0)) return undefined;
  return { ...underWay.result, stale: [...stale] };
}

function inOrder({ all }: RemoteColumns, group: TableColumn[]): TableColumn[] {
  return all.filter((column) => group.includes(column));
}
