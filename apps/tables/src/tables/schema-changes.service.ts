import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import type { Transaction } from '@parley/persistence/database';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { JobsRepository } from '../jobs/jobs.repository';
import { show } from '../schema/column-names';
import { keyColumnOf } from '../schema/columns';
import { effectOnRows, workOf } from '../schema/effect-on-rows';
import type { ChangedColumns } from './table-changes';
import { wakeAfterCommit } from './table-queues';
import { TableRowsRepository } from './table-rows.repository';
import { type TableRow, withColumns } from './table.entity';

const maxDuplicates = 5;
/** Rows that a request updates itself after a schema change; a job updates more. */
const maxSettledRows = 5_000;
/** Limit for changing the key column: measured, about 10 s during which other writes to the table wait. */
const maxRekeyedRows = 150_000;

/** Effects of schema changes on the existing rows. */
@Injectable()
export class SchemaChangesService {
  constructor(
    private readonly rows: TableRowsRepository,
    private readonly jobs: JobsRepository,
    private readonly queue: WorkQueue,
  ) {}

  /** Updates the rows after a schema change: in the same transaction, or by a job for many rows. */
  async settleRows(tx: Transaction, before: TableRow, after: TableRow, change: ChangedColumns): Promise<void> {
    const { rows, lastRowId } = await this.rows.measureTable(tx, after);
    if (rows === 0) return;
    const keyColumn = keyColumnOf(withColumns(after));
    if (keyColumn && keyColumn.key !== keyColumnOf(withColumns(before))?.key) {
      if (rows > maxRekeyedRows) throw tooManyToRekey(rows);
      await this.refuseDuplicates(tx, after, keyColumn.key);
      await this.rows.rekeyRows(tx, after.number, keyColumn.key);
    }
    const effect = effectOnRows(before, after, change);
    if (!effect) return;
    if (rows <= maxSettledRows) {
      await this.rows.applyEffect(tx, after, effect, 0, maxSettledRows);
      wakeAfterCommit(tx, this.queue, workOf(effect));
      return;
    }
    const { unindexed: _unindexed, ...columns } = effect;
    const isOfColumns = Object.values(columns).some((keys) => keys.length > 0);
    const type = isOfColumns ? ('clear_column' as const) : ('clear_vectors' as const);
    const task = { type, tableNumber: after.number, lastRowId, effect };
    await this.jobs.queueJob(tx, { botId: after.bot_id, tableId: after.id, task });
  }

  private async refuseDuplicates(tx: Transaction, table: TableRow, columnKey: string): Promise<void> {
    const duplicates = await this.rows.listDuplicates(tx, table.number, columnKey, maxDuplicates + 1);
    if (duplicates.length === 0) return;
    const named = duplicates
      .slice(0, maxDuplicates)
      .map(({ value, ids: [first, second] }) => `${show(String(value))} in rows ${first} and ${second}`);
    const more = duplicates.length > maxDuplicates ? ', and others' : '';
    throw new ApiError(
      'AlreadyExists',
      `keyColumn: the values of ${table.key_column} are not unique: ${named.join(', ')}${more}.`,
    );
  }
}

function tooManyToRekey(rows: number): ApiError {
  return new ApiError(
    'LimitExceeded',
    `keyColumn can be set for a table of at most ${maxRekeyedRows} rows, got ${rows}. Create a table with ` +
      'this keyColumn and import an export of this table.',
  );
}
