import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '@parley/persistence/database';

export interface PreferenceOwner {
  kind: 'account' | 'workspace';
  id: string;
}

/** One table per kind of owner: `account_preference` refers to `account` by `account_id`. */
@Injectable()
export class PreferencesRepository {
  constructor(private readonly database: Database) {}

  /** Value of the preference, which may be null; `value` is absent when nothing is stored. */
  async find({ kind, id }: PreferenceOwner, key: string): Promise<{ value?: unknown }> {
    const [row] = await this.database.query<{ value: unknown }>(
      `SELECT value FROM ${kind}_preference WHERE ${kind}_id = $1 AND key = $2`,
      [id, key],
    );
    return row ?? {};
  }

  /** No-op when the owner is gone. */
  async set(sql: Sql, { kind, id }: PreferenceOwner, key: string, value: unknown): Promise<void> {
    await sql.query(
      `INSERT INTO ${kind}_preference (${kind}_id, key, value)
       SELECT id, $2, $3::json FROM ${kind} WHERE id = $1 FOR KEY SHARE
       ON CONFLICT (${kind}_id, key) DO UPDATE SET value = excluded.value`,
      [id, key, JSON.stringify(value)],
    );
  }

  async remove(sql: Sql, { kind, id }: PreferenceOwner, key: string): Promise<void> {
    await sql.query(`DELETE FROM ${kind}_preference WHERE ${kind}_id = $1 AND key = $2`, [id, key]);
  }
}
