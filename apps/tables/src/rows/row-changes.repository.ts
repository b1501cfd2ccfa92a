import { Injectable } from '@nestjs/common';
import type { Sql } from '@parley/persistence/database';
import { toJsonb } from '@parley/persistence/storable';
import { resolveColumn } from '../queries/column-reference';
import { conditionOf } from '../queries/filter-sql';
import type { TableColumn } from '../schema/columns';
import type { WorkKind } from '../schema/dirty-flags';
import type { StoredRow } from '../tables/row.entity';
import type { TableRow } from '../tables/table.entity';
import { queuedWork } from '../tables/table-queues';
import { identityOf, type RowState } from './change';
import { noMoreIds } from './rows.repository';

type TableVersion = Pick<TableRow, 'number' | 'bot_id' | 'version'>;

export type LockedRow = Omit<StoredRow, 'updated_at'>;

export type WrittenRow = RowState & Pick<StoredRow, 'id'>;

/**
 * Writes locked rows and new ones, whose ids follow the last one. No join: whatever the planner's estimate, each row
 * costs one lookup in the primary key.
 */
const writeStatement = (work: WorkKind[]) => `
  WITH moment AS MATERIALIZED (SELECT clock_timestamp()::timestamptz(3) AS at),
  given AS (
    UPDATE table_state SET next_row_id = next_row_id + $4 WHERE number = $1 AND $4 > 0),
  written AS (
    INSERT INTO row AS stored (table_number, id, key, data, computed, stale, unindexed, created_at, updated_at)
    SELECT $1, id, row_key(data -> $3), data, computed, stale, unindexed, at, at
    FROM moment, jsonb_to_recordset($2::jsonb)
      AS entry (id integer, data jsonb, computed jsonb, stale text[], unindexed boolean)
    ON CONFLICT (table_number, id) DO UPDATE SET key = excluded.key, data = excluded.data, computed = excluded.computed,
      stale = excluded.stale, unindexed = excluded.unindexed, revision = stored.revision + 1, updated_at = excluded.updated_at)
  ${queuedWork(work, '$1', '$5', 'moment')}
  SELECT at FROM moment`;

@Injectable()
export class RowChangesRepository {
  /**
   * Locks the table's state until the transaction ends: no other inserts, key changes or schema changes. Returns the
   * next row id, or undefined when the table has changed since it was read.
   */
  async lockForKeys(tx: Sql, { number, version }: TableVersion): Promise<number | undefined> {
    const [state] = await tx.query<{ next_row_id: string }>(
      'SELECT next_row_id FROM table_state WHERE number = $1 AND version = $2 FOR NO KEY UPDATE',
      [number, version],
    );
    return state && Number(state.next_row_id);
  }

  /** Locks the schema of the table until the transaction ends. False when it has changed since it was read. */
  async lockVersion(tx: Sql, { number, version }: TableVersion): Promise<boolean> {
    const rows = await tx.query('SELECT 1 FROM table_state WHERE number = $1 AND version = $2 FOR KEY SHARE', [
      number,
      version,
    ]);
    return rows.length > 0;
  }

  /** Lock order: rows are locked by id, everywhere. */
  async lockRows(tx: Sql, { number }: TableVersion, ids: number[]): Promise<Map<number, LockedRow>> {
    if (ids.length === 0) return new Map();
    const rows = await tx.query<LockedRow>(
      `SELECT id, data, computed, stale, unindexed, created_at FROM row
       WHERE table_number = $1 AND id = ANY ($2::integer[]) ORDER BY id FOR NO KEY UPDATE`,
      [number, ids],
    );
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** For each value, the row with this key. Index: row_key. */
  async listIdsByKeys(tx: Sql, { number }: TableVersion, values: unknown[]): Promise<number[][]> {
    const rows = await tx.query<{ ids: number[] }>(
      `SELECT ARRAY(SELECT id FROM row WHERE table_number = $1 AND row.key = row_key(value)) AS ids
       FROM jsonb_array_elements($2::jsonb) WITH ORDINALITY AS entry (value, place) ORDER BY place`,
      [number, toJsonb(values)],
    );
    return rows.map(({ ids }) => ids);
  }

  /**
   * For each string, number or boolean, up to two rows that have it in the column. Few values use the index row_data.
   * More are compared in one scan of the table, because the planner would scan the index once per value.
   */
  async listIdsByColumn(
    sql: Sql,
    { number }: TableVersion,
    column: TableColumn,
    values: unknown[],
  ): Promise<number[][]> {
    if (values.length === 0) return [];
    const reference = resolveColumn(new Map([[column.name, column]]), column.name)!;
    const parameters: unknown[] = [number, column.key];
    const rows = await sql.query<{ value: unknown; ids: number[] }>(
      `SELECT row.data -> $2 AS value, (array_agg(row.id))[1:2] AS ids
       FROM row WHERE row.table_number = $1 AND ${conditionOf({ kind: 'one of', column: reference, values }, parameters)} GROUP BY 1`,
      parameters,
    );
    const found = new Map(rows.map(({ value, ids }) => [identityOf(value), ids]));
    return values.map((value) => found.get(identityOf(value)) ?? []);
  }

  /**
   * Writes locked rows and `added` new ones, with the next ids. Returns the time of the change.
   *
   * @param keyColumn source of the rows' keys
   */
  async writeRows(
    tx: Sql,
    { number, bot_id }: TableVersion,
    keyColumn: TableColumn | undefined,
    { rows, added, work }: { rows: WrittenRow[]; added: number; work: WorkKind[] },
  ): Promise<Date> {
    const [done] = await tx
      .query<{ at: Date }>(
        writeStatement(work),
        [number, toJsonb(rows), keyColumn?.key ?? null, added, ...(work.length > 0 ? [bot_id] : [])],
        ['write_rows', ...work].join('_'),
      )
      .catch((error: unknown) => {
        throw noMoreIds(error);
      });
    return done!.at;
  }
}
