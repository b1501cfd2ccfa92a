import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import type { RowEntity } from '../tables/row.entity';

export type UnindexedRow = Pick<RowEntity, 'id' | 'data' | 'revision'>;

/** Differences between a table and the passage index: rows to index and points to remove. */
@Injectable()
export class UnindexedRowsRepository {
  constructor(private readonly database: Database) {}

  /** Index: row_unindexed. */
  listUnindexed(tableNumber: string, limit: number): Promise<UnindexedRow[]> {
    return this.database.query<UnindexedRow>(
      'SELECT id, data, revision FROM row WHERE table_number = $1 AND unindexed ORDER BY id LIMIT $2',
      [tableNumber, limit],
    );
  }

  /** Optimistic concurrency, one statement: rows that were changed since they were read remain unindexed. */
  async markIndexed(tableNumber: string, rows: Pick<UnindexedRow, 'id' | 'revision'>[]): Promise<void> {
    await this.database.query(
      `WITH indexed AS MATERIALIZED (SELECT * FROM unnest($2::int[], $3::int[]) AS indexed (id, revision)),
       locked AS MATERIALIZED (
         SELECT id FROM row WHERE table_number = $1 AND id = ANY ($2::int[]) ORDER BY id FOR UPDATE)
       UPDATE row SET unindexed = false FROM indexed JOIN locked USING (id)
       WHERE row.table_number = $1 AND row.id = indexed.id AND row.revision = indexed.revision`,
      [tableNumber, rows.map(({ id }) => id), rows.map(({ revision }) => revision)],
    );
  }

  /** Ids of deleted rows that may still have a point. */
  async listDroppedPoints(tableNumber: string, limit: number): Promise<number[]> {
    const rows = await this.database.query<{ row_id: number }>(
      'SELECT row_id FROM dropped_point WHERE table_number = $1 ORDER BY row_id LIMIT $2',
      [tableNumber, limit],
    );
    return rows.map(({ row_id }) => row_id);
  }

  async deleteDroppedPoints(tableNumber: string, ids: number[]): Promise<void> {
    await this.database.query('DELETE FROM dropped_point WHERE table_number = $1 AND row_id = ANY ($2::int[])', [
      tableNumber,
      ids,
    ]);
  }
}
