import { Injectable } from '@nestjs/common';
import { ApiError, notFound } from '@parley/contracts/errors';
import type { TagQuery } from '@parley/contracts/query-fields';
import { behindAllRows, type RowKey } from '@parley/contracts/tables/reindex';
import { lexiconVersion } from '@parley/passages/lexicon';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { isUniqueViolation } from '@parley/persistence/errors';
import { newId } from '@parley/persistence/ids';
import { toJsonb } from '@parley/persistence/storable';
import { tagConditions } from '@parley/persistence/tags';
import { In } from 'typeorm';
import { hasSearchableColumn, TableEntity, tableIsCurrent, type TableRow } from './table.entity';

export type NewTable = Pick<
  TableRow,
  'bot_id' | 'name' | 'factor' | 'frozen' | 'key_column' | 'schema' | 'next_index' | 'tags' | 'is_compute_enabled'
>;

const whole = '"table".*, table_state.version FROM "table" JOIN table_state USING (number)';

@Injectable()
export class TablesRepository {
  constructor(private readonly database: Database) {}

  /** Undefined when the bot is deleted, even concurrently. Throws AlreadyExists. */
  async insertTable(tx: Transaction, table: NewTable): Promise<TableRow | undefined> {
    // A separate statement: the next one must see commits that happened while this one waited for the lock.
    await tx.query('SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))', [tablesOfBot(table.bot_id)]);
    const [row] = await tx
      .query<TableRow>(
        `WITH state AS (
           INSERT INTO table_state (number)
           SELECT nextval('table_number') WHERE NOT EXISTS (SELECT 1 FROM deleted_bot WHERE bot_id = $2)
           RETURNING number, version),
         made AS (
           INSERT INTO "table" (id, number, bot_id, name, factor, frozen, key_column, schema, next_index, tags, is_compute_enabled,
             lexicon)
           SELECT $1, number, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM state
           RETURNING *)
         SELECT made.*, state.version FROM made JOIN state USING (number)`,
        [newId('table'), table.bot_id, ...definitionOf(table), lexiconVersion],
      )
      .catch((error: unknown) => {
        throw nameTaken(error, table.name);
      });
    return row;
  }

  /** Oldest first. Index: table_name. */
  listByTags(botId: string, tags: TagQuery | undefined): Promise<TableRow[]> {
    const values: unknown[] = [botId];
    return this.database.query<TableRow>(
      `SELECT ${whole} WHERE bot_id = $1 AND ${tagConditions('tags', tags, values)} ORDER BY id`,
      values,
    );
  }

  countByBot(sql: Sql, botId: string): Promise<number> {
    return sql.manager.countBy(TableEntity, { bot_id: botId });
  }

  async listTakenNames(sql: Sql, botId: string, names: string[]): Promise<string[]> {
    const where = { bot_id: botId, name: In(names) };
    const tables = await sql.manager.find(TableEntity, { select: { name: true }, where });
    return tables.map(({ name }) => name);
  }

  /** Finds by id or name. Indexes: the primary key and table_name. */
  async findByNameOrId(botId: string, nameOrId: string, sql: Sql = this.database): Promise<TableRow | undefined> {
    const [row] = await sql.query<TableRow>(
      `SELECT ${whole} WHERE bot_id = $1 AND (id = $2 OR name = $2) ORDER BY (id = $2) DESC LIMIT 1`,
      [botId, nameOrId],
    );
    return row;
  }

  async findByNumber(number: string): Promise<TableRow | undefined> {
    const [row] = await this.database.query<TableRow>(`SELECT ${whole} WHERE number = $1`, [number]);
    return row;
  }

  /** First table, of one bot or of all, with a searchable column and possibly rows after this position. */
  async findNextSearchable({ tableId, rowId }: RowKey, botId?: string): Promise<TableRow | undefined> {
    const [row] = await this.database.query<TableRow>(
      `SELECT ${whole}
       WHERE id >= $1 AND NOT (id = $1 AND $2::int = $3) AND ($4::text IS NULL OR bot_id = $4)
         AND ${hasSearchableColumn}
       ORDER BY id LIMIT 1`,
      [tableId, rowId, behindAllRows, botId ?? null],
    );
    return row;
  }

  /** Whether the table exists with this number and version: every change of it, such as a new name, counts. */
  async isCurrent(table: Pick<TableRow, 'number' | 'version'>): Promise<boolean> {
    const values: unknown[] = [];
    const [found] = await this.database.query<{ is_current: boolean | null }>(
      `SELECT ${tableIsCurrent(table, values)} AS is_current`,
      values,
      'table-is-current',
    );
    return found!.is_current ?? false;
  }

  /** Counts by partial indexes (row_stale, row_unindexed) that contain only waiting rows. */
  async countRows(
    { number }: TableRow,
    sql: Sql = this.database,
  ): Promise<{ rows: number; stale: number; indexing: number }> {
    const [counts] = await sql.query<{ rows: string; stale: string; indexing: string }>(
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
   * Exclusive lock on the table until the transaction ends: no writes of rows. False when the table has changed since
   * it was read. Lock order: the state of a table is locked before anything else of the table.
   */
  async lockTable(tx: Sql, { number, version }: TableRow): Promise<boolean> {
    const rows = await tx.query('SELECT 1 FROM table_state WHERE number = $1 AND version = $2 FOR UPDATE', [
      number,
      version,
    ]);
    return rows.length > 0;
  }

  /**
   * Finds and locks the table until the transaction ends. Undefined when its number changed meanwhile, so that the
   * caller has to retry. Throws ResourceNotFound.
   */
  async findLockedByNameOrId(tx: Sql, botId: string, nameOrId: string): Promise<TableRow | undefined> {
    const table = await this.findByNameOrId(botId, nameOrId, tx);
    if (!table) throw notFound('table', nameOrId);
    await tx.query('SELECT 1 FROM table_state WHERE number = $1 FOR UPDATE', [table.number]);
    const now = await this.findByNameOrId(botId, nameOrId, tx);
    return now?.number === table.number ? now : undefined;
  }

  /** Stores the locked table as its next version. Throws AlreadyExists. */
  async updateTable(tx: Sql, table: TableRow): Promise<TableRow> {
    const [row] = await tx
      .query<TableRow>(
        `WITH state AS (UPDATE table_state SET version = version + 1 WHERE number = $3 RETURNING version),
         changed AS (
           UPDATE "table" SET name = $4, factor = $5, frozen = $6, key_column = $7, schema = $8, next_index = $9, tags = $10,
             is_compute_enabled = $11, updated_at = now()
           WHERE id = $1 AND bot_id = $2
           RETURNING *)
         SELECT changed.*, state.version FROM changed, state`,
        [table.id, table.bot_id, table.number, ...definitionOf(table)],
      )
      .catch((error: unknown) => {
        throw nameTaken(error, table.name);
      });
    return row!;
  }

  /** Deletes the locked table. Its rows are left. */
  async deleteTable(tx: Sql, { bot_id, id }: TableRow): Promise<void> {
    await tx.query(
      `WITH gone AS (DELETE FROM "table" WHERE id = $1 AND bot_id = $2 RETURNING number)
       DELETE FROM table_state USING gone WHERE table_state.number = gone.number`,
      [id, bot_id],
    );
  }
}

/** Name of the advisory lock per bot: shared to create a table, exclusive to delete the bot. */
export function tablesOfBot(botId: string): string {
  return `tables:bot:${botId}`;
}

function nameTaken(error: unknown, name: string): unknown {
  return isUniqueViolation(error, 'table_name')
    ? new ApiError('AlreadyExists', `Table "${name}" already exists.`)
    : error;
}

/** Column values in the order that both writing statements expect. */
function definitionOf(table: NewTable): unknown[] {
  return [
    table.name,
    table.factor,
    table.frozen,
    table.key_column,
    toJsonb(table.schema),
    table.next_index,
    toJsonb(table.tags),
    table.is_compute_enabled,
  ];
}
