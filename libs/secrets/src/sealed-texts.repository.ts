import type { Database, Sql, Transaction } from '@parley/persistence/database';
import { keyIdLength } from './secret-box';

/** A column of sealed (encrypted) texts, empty or null without one; or of JSON objects with sealed values. */
export interface SealedColumn {
  table: string;
  column: string;
  owner: string;
  isMap?: boolean;
}

/** Sealed columns of a service. Writers of a sealed text must hold a row lock on its owner. */
export interface SealedColumns {
  owners: string;
  columns: SealedColumn[];
}

export interface SealedText {
  owner: string;
  sealed: string;
}

export interface KeyInUse {
  /** Empty for texts of earlier versions, which have no key id. */
  keyId: string;
  count: number;
  sample: string;
}

export class SealedTextsRepository {
  private readonly texts: string;

  constructor(
    private readonly database: Database,
    private readonly sealedColumns: SealedColumns,
  ) {
    this.texts = sealedColumns.columns.map(selectOf).join(' UNION ALL ');
  }

  /** Keys in use, by one scan over all sealed texts. Throws after the timeout. */
  async listKeysInUse(timeoutMs: number): Promise<KeyInUse[]> {
    return this.database.readWithin<KeyInUse>(
      timeoutMs,
      `SELECT CASE WHEN substr(sealed, ${keyIdLength + 1}, 1) = '.' THEN left(sealed, ${keyIdLength}) ELSE '' END AS "keyId",
         count(*)::int AS count, min(sealed COLLATE "C") AS sample
       FROM (${this.texts}) AS text GROUP BY 1 ORDER BY 1`,
    );
  }

  async listOwnersAfter(after: string, limit: number): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      `SELECT id FROM ${this.sealedColumns.owners} WHERE id > $1 ORDER BY id LIMIT ${limit}`,
      [after],
    );
    return rows.map(({ id }) => id);
  }

  /** Row locks: until the end of the transaction nobody else changes the texts of these owners. */
  async lockOwners(tx: Transaction, owners: string[]): Promise<void> {
    await tx.query(`SELECT FROM ${this.sealedColumns.owners} WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`, [
      owners,
    ]);
  }

  async listUnderOtherKeys(sql: Sql, owners: string[], keyId: string): Promise<SealedText[]> {
    return sql.query<SealedText>(
      `SELECT owner, sealed FROM (${this.texts}) AS text WHERE owner = ANY($1) AND NOT starts_with(sealed, $2)`,
      [owners, `${keyId}.`],
    );
  }

  /** Replaces texts wherever the owners have them: `former` by `fresh` at the same index. */
  async replaceTexts(tx: Transaction, owners: string[], former: string[], fresh: string[]): Promise<void> {
    for (const column of this.sealedColumns.columns) await tx.query(replacementIn(column), [owners, former, fresh]);
  }
}

function selectOf({ table, column, owner, isMap }: SealedColumn): string {
  return isMap
    ? `SELECT ${owner} AS owner, entry.value AS sealed FROM ${table}, jsonb_each_text(${column}) AS entry`
    : `SELECT ${owner} AS owner, ${column} AS sealed FROM ${table} WHERE ${column} <> ''`;
}

function replacementIn({ table, column, owner, isMap }: SealedColumn): string {
  const pairs = 'unnest($2::text[], $3::text[]) AS pair(former, fresh)';
  return isMap
    ? `UPDATE ${table} SET ${column} = (
         SELECT jsonb_object_agg(entry.key, coalesce(fresh, entry.value))
         FROM jsonb_each_text(${column}) AS entry LEFT JOIN ${pairs} ON former = entry.value)
       WHERE ${owner} = ANY($1) AND EXISTS (SELECT FROM jsonb_each_text(${column}) AS entry WHERE entry.value = ANY($2))`
    : `UPDATE ${table} SET ${column} = fresh FROM ${pairs} WHERE ${owner} = ANY($1) AND ${column} = former`;
}
