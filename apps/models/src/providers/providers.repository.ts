import { Injectable } from '@nestjs/common';
import type { ProviderSettings } from '@parley/contracts/models/providers';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';

export interface StoredProvider {
  id: string;
  sealed_key: string | null;
  settings: ProviderSettings;
}

@Injectable()
export class ProvidersRepository {
  constructor(private readonly database: Database) {}

  /** In order of fallback. */
  list(sql: Sql = this.database): Promise<StoredProvider[]> {
    return sql.query<StoredProvider>('SELECT id, sealed_key, settings FROM provider ORDER BY position, id');
  }

  /** Locks the row. */
  async findForUpdate(tx: Transaction, name: string): Promise<StoredProvider | undefined> {
    const [row] = await tx.query<StoredProvider>(
      'SELECT id, sealed_key, settings FROM provider WHERE id = $1 FOR UPDATE',
      [name],
    );
    return row;
  }

  /** A new provider comes after the others. */
  async upsert(tx: Transaction, { id, sealed_key: sealedKey, settings }: StoredProvider): Promise<void> {
    await tx.query(
      `INSERT INTO provider (id, position, sealed_key, settings)
       VALUES ($1, (SELECT coalesce(max(position), 0) + 1 FROM provider), $2, $3)
       ON CONFLICT (id) DO UPDATE SET sealed_key = excluded.sealed_key, settings = excluded.settings`,
      [id, sealedKey, JSON.stringify(settings)],
    );
  }

  async delete(tx: Transaction, name: string): Promise<void> {
    await tx.query('DELETE FROM provider WHERE id = $1', [name]);
  }

  async reorder(tx: Transaction, names: string[]): Promise<void> {
    await tx.query(
      `UPDATE provider SET position = given.position
       FROM unnest($1::text[]) WITH ORDINALITY AS given (id, position) WHERE provider.id = given.id`,
      [names],
    );
  }

  /** Locks all rows, in the order of `SealedTextsRepository`. */
  async lockAll(tx: Transaction): Promise<string[]> {
    const rows = await tx.query<{ id: string }>('SELECT id FROM provider ORDER BY id FOR UPDATE');
    return rows.map(({ id }) => id);
  }
}
