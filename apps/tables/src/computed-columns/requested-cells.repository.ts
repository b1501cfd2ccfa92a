import { Injectable } from '@nestjs/common';
import type { ComputedAction } from '@parley/contracts/tables/table-schema';
import { Database, type Sql } from '@parley/persistence/database';
import type { DueRows } from '@parley/persistence/due-rows';
import { lockNext } from '@parley/persistence/lock-next';
import { toJsonb } from '@parley/persistence/storable';
import type { RequestedCellEntity } from './requested-cell.entity';

export const expiredCells: DueRows = {
  table: 'requested_cell',
  key: "table_number || '/' || row_id || '/' || column_key",
  time: 'expires_at',
};

@Injectable()
export class RequestedCellsRepository {
  constructor(private readonly database: Database) {}

  /** Actions with at least this number of requested cells. Index: the primary key. */
  async listFull(tableNumber: string, limit: number): Promise<ComputedAction[]> {
    const rows = await this.database.query<{ action: ComputedAction }>(
      `SELECT action FROM requested_cell WHERE table_number = $1 GROUP BY action HAVING count(*) >= $2`,
      [tableNumber, limit],
    );
    return rows.map(({ action }) => action);
  }

  /** @param minutes time after which the cells are requested again */
  async insertCells(tx: Sql, cells: Omit<RequestedCellEntity, 'expires_at'>[], minutes: number): Promise<void> {
    await tx.query(
      `INSERT INTO requested_cell (table_number, row_id, column_key, bot_id, action, version, expires_at)
       SELECT table_number, row_id, column_key, bot_id, action, version, now() + $2 * interval '1 minute'
       FROM jsonb_populate_recordset(NULL::requested_cell, $1)
       ON CONFLICT (table_number, row_id, column_key) DO UPDATE SET version = excluded.version, expires_at = excluded.expires_at`,
      [toJsonb(cells), minutes],
    );
  }

  async deleteAnswered(tx: Sql, tableNumber: string, answers: { rowId: number; version: string }[]): Promise<void> {
    await tx.query(
      `DELETE FROM requested_cell USING jsonb_to_recordset($2::jsonb) AS answer ("rowId" int, version text)
       WHERE table_number = $1 AND row_id = answer."rowId" AND requested_cell.version = answer.version`,
      [tableNumber, toJsonb(answers)],
    );
  }

  /** Tables of the deleted cells. Index requested_cell_expires. */
  async deleteExpired(tx: Sql, limit: number): Promise<{ number: string; botId: string }[]> {
    return tx.query(
      `WITH expired AS MATERIALIZED (${lockNext({
        table: 'requested_cell',
        columns: 'table_number, row_id, column_key',
        where: 'expires_at <= now()',
        orderBy: 'expires_at',
        limit: '$1',
      })}),
       gone AS (
         DELETE FROM requested_cell USING expired
         WHERE requested_cell.table_number = expired.table_number AND requested_cell.row_id = expired.row_id
           AND requested_cell.column_key = expired.column_key
         RETURNING requested_cell.table_number, bot_id)
       SELECT DISTINCT table_number::text AS number, bot_id AS "botId" FROM gone`,
      [limit],
    );
  }
}
