import { Injectable } from '@nestjs/common';
import type { CellState } from '@parley/contracts/tables/rows';
import { Database } from '@parley/persistence/database';
import { toJsonb } from '@parley/persistence/storable';
import type { RowEntity } from '../tables/row.entity';
import type { TableRow } from '../tables/table.entity';
import { queuedWork } from '../tables/table-queues';

export type StaleRow = Omit<RowEntity, 'table_number' | 'key'>;

/** Stale row with the keys of its columns that were requested from the bot or from a workflow. */
export type ListedStaleRow = StaleRow & { requested: string[] };

/** Result of computing a row that had this revision. Columns are identified by key. */
export interface ComputedRow {
  id: number;
  revision: number;
  data: Record<string, unknown>;
  /** Columns whose value is removed. */
  emptied: string[];
  computed: Record<string, CellState>;
  /** Columns that are not computed any more: their state is removed. */
  left: string[];
  stale: string[];
  unindexed: boolean;
}

const columns = 'id, data, computed, stale, revision, created_at, updated_at';
const rowsLookedAt = 5_000;

@Injectable()
export class StaleRowsRepository {
  constructor(private readonly database: Database) {}

  /** Index: row_stale. */
  listStale(tableNumber: string, limit: number): Promise<StaleRow[]> {
    return this.database.query<StaleRow>(
      `SELECT ${columns} FROM row WHERE table_number = $1 AND stale IS NOT NULL ORDER BY id LIMIT $2`,
      [tableNumber, limit],
    );
  }

  /**
   * Stale rows with a column that is not held up, among the first 5,000. Index: row_stale, and the primary key of
   * requested_cell.
   * @param held keys of columns that are not requested for now
   * @param dependents for each remote column, the columns that a request of it holds up
   */
  listStaleBesideRequested(
    tableNumber: string,
    limit: number,
    held: string[],
    dependents: Record<string, string[]>,
  ): Promise<ListedStaleRow[]> {
    const ofRow = 'FROM requested_cell WHERE requested_cell.table_number = $1 AND row_id';
    return this.database.query<ListedStaleRow>(
      `SELECT ${columns}, ARRAY(SELECT column_key ${ofRow} = row.id) AS requested FROM row
       WHERE table_number = $1 AND id = ANY (ARRAY(
         SELECT id FROM (
           SELECT id, stale FROM row WHERE table_number = $1 AND stale IS NOT NULL ORDER BY id LIMIT ${rowsLookedAt}) AS looked_at
         WHERE NOT stale <@ ($3::text[] || ARRAY(SELECT jsonb_array_elements_text($4::jsonb -> column_key) ${ofRow} = looked_at.id))
         ORDER BY id LIMIT $2))
       ORDER BY id`,
      [tableNumber, limit, held, toJsonb(dependents)],
    );
  }

  listByIds(tableNumber: string, ids: number[]): Promise<StaleRow[]> {
    return this.database.query<StaleRow>(`SELECT ${columns} FROM row WHERE table_number = $1 AND id = ANY ($2)`, [
      tableNumber,
      ids,
    ]);
  }

  async findById(tableNumber: string, id: number): Promise<StaleRow | undefined> {
    const [row] = await this.database.query<StaleRow>(
      `SELECT ${columns} FROM row WHERE table_number = $1 AND id = $2`,
      [tableNumber, id],
    );
    return row;
  }

  /**
   * Optimistic concurrency, in one statement: skips rows that were changed or deleted since they were read, and all
   * rows when the table was changed. Returns the ids of the written rows.
   */
  async writeComputed(
    { number, bot_id, version }: Pick<TableRow, 'number' | 'bot_id' | 'version'>,
    rows: ComputedRow[],
  ): Promise<number[]> {
    const isUnindexed = rows.some((row) => row.unindexed);
    const written = await this.database.query<{ id: number }>(
      `WITH state AS MATERIALIZED (
         SELECT 1 FROM table_state WHERE number = $1 AND version = $2 FOR KEY SHARE),
       result AS MATERIALIZED (
         SELECT * FROM jsonb_to_recordset($3::jsonb)
           AS result (id int, revision int, data jsonb, emptied text[], computed jsonb, "left" text[], stale text[], unindexed boolean)),
       locked AS MATERIALIZED (
         SELECT id FROM row
         WHERE table_number = $1 AND id = ANY (ARRAY(SELECT id FROM result)) AND (SELECT count(*) FROM state) = 1
         ORDER BY id FOR UPDATE)
       ${isUnindexed ? queuedWork(['index'], '$1', '$4', 'state') : ''}
       UPDATE row SET
         data = (row.data - result.emptied) || result.data,
         computed = (coalesce(row.computed, '{}') - result."left") || result.computed,
         stale = nullif(result.stale, '{}'),
         unindexed = row.unindexed OR result.unindexed,
         revision = row.revision + 1
       FROM result JOIN locked USING (id)
       WHERE row.table_number = $1 AND row.id = result.id AND row.revision = result.revision
       RETURNING row.id`,
      [number, version, toJsonb(rows), ...(isUnindexed ? [bot_id] : [])],
    );
    return written.map(({ id }) => id);
  }
}
