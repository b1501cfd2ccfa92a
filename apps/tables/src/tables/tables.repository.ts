import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { Database, type Sql } from '@parley/database/database';
import { isUniqueViolation } from '@parley/database/errors';
import { newId } from '@parley/database/ids';
import { toJsonb } from '@parley/database/storable';
import type { TableRow } from './table.entity';

export type NewTable = Pick<
  TableRow,
  'bot_id' | 'name' | 'factor' | 'frozen' | 'key_column' | 'schema' | 'next_index' | 'tags' | 'is_compute_enabled'
>;

const whole = '"table".*, table_state.version FROM "table" JOIN table_state USING (number)';

@Injectable()
export class TablesRepository {
  constructor(private readonly database: Database) {}

  /** Undefined when the bot was deleted. Throws AlreadyExists. */
  async insert(table: NewTable): Promise<TableRow | undefined> {
    const [row] = await this.database
      .query<TableRow>(
        `WITH state AS (
           INSERT INTO table_state (number)
           SELECT nextval('table_number') WHERE NOT EXISTS (SELECT 1 FROM deleted_bot WHERE bot_id = $2)
           RETURNING number, version),
         made AS (
           INSERT INTO "table" (id, number, bot_id, name, factor, frozen, key_column, schema, next_index, tags, is_compute_enabled)
           SELECT $1, number, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM state
           RETURNING *)
         SELECT made.*, state.version FROM made JOIN state USING (number)`,
        [
          newId('table'),
          table.bot_id,
          table.name,
          table.factor,
          table.frozen,
          table.key_column,
          toJsonb(table.schema),
          table.next_index,
          toJsonb(table.tags),
          table.is_compute_enabled,
        ],
      )
      .catch((error: unknown) => {
        if (isUniqueViolation(error, 'table_name'))
          throw new ApiError('AlreadyExists', `There is a table named "${table.name}" already.`);
        throw error;
      });
    return row;
  }

  /** By id or name. Indexes: primary key and table_name. */
  async find(botId: string, nameOrId: string): Promise<TableRow | undefined> {
    const [row] = await this.database.query<TableRow>(
      `SELECT ${whole} WHERE bot_id = $1 AND (id = $2 OR name = $2) ORDER BY (id = $2) DESC LIMIT 1`,
      [botId, nameOrId],
    );
    return row;
  }

  /** Whether the table still has this name or id, and the number and the version that it had. */
  async isCurrent({ bot_id, id, number, version }: TableRow, nameOrId: string): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM "table" JOIN table_state USING (number)
       WHERE id = $1 AND bot_id = $2 AND number = $3 AND version = $4 AND (id = $5 OR name = $5)`,
      [id, bot_id, number, version, nameOrId],
    );
    return rows.length > 0;
  }

  /** Index-only over the rows that wait, nothing over the others. */
  async count({ number }: TableRow): Promise<{ rows: number; stale: number; indexing: number }> {
    const [counts] = await this.database.query<{ rows: string; stale: string; indexing: string }>(
      `SELECT next_row_id - 1 - unused_ids AS rows,
         (SELECT count(*) FROM row WHERE table_number = $1 AND stale IS NOT NULL) AS stale,
         (SELECT count(*) FROM row WHERE table_number = $1 AND unindexed) AS indexing
       FROM table_state JOIN "table" USING (number) WHERE number = $1`,
      [number],
    );
    const { rows = 0, stale = 0, indexing = 0 } = counts ?? {};
    return { rows: Number(rows), stale: Number(stale), indexing: Number(indexing) };
  }

  /**
   * Keeps every row of the table as it is until the transaction ends. False when the table has changed since it was
   * read. Whoever locks the state of a table does it before anything else of the table.
   */
  async lock(tx: Sql, { number, version }: TableRow): Promise<boolean> {
    const rows = await tx.query('SELECT 1 FROM table_state WHERE number = $1 AND version = $2 FOR UPDATE', [
      number,
      version,
    ]);
    return rows.length > 0;
  }

  /** Deletes the table, which is locked, and notes its rows for removal. */
  async delete(tx: Sql, { bot_id, id }: TableRow): Promise<void> {
    await tx.query(
      `WITH gone AS (DELETE FROM "table" WHERE id = $1 AND bot_id = $2 RETURNING number),
         state AS (DELETE FROM table_state USING gone WHERE table_state.number = gone.number)
       INSERT INTO dropped_rows (number, bot_id) SELECT number, $2 FROM gone`,
      [id, bot_id],
    );
  }
}
