import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Database, type Sql } from '@parley/persistence/database';
import { toJsonb } from '@parley/persistence/storable';
import { addReadyWork } from '@parley/work-queue/work-statements';
import { Repository } from 'typeorm';
import { keyColumnOf } from '../schema/columns';
import { isSearchable } from '../schema/dirty-flags';
import type { StoredRow } from './row.entity';
import { computeRows, indexRows } from './table-queues';
import { TableStateEntity, type TableWithColumns } from './table.entity';

/** Processed rows. `lastId` is null when there were none. */
interface Passed {
  lastId: number | null;
  rows: number;
}

/** Batches of rows by id. Index: the primary key. */
@Injectable()
export class RowBatchesRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(TableStateEntity) private readonly states: Repository<TableStateEntity>,
  ) {}

  listAfterId(tableNumber: string, afterId: number, limit: number): Promise<StoredRow[]> {
    return this.database.query<StoredRow>(
      `SELECT id, data, computed, stale, created_at, updated_at FROM row
       WHERE table_number = $1 AND id > $2 ORDER BY id LIMIT $3`,
      [tableNumber, afterId, limit],
    );
  }

  /** Last assigned row id; undefined when no table has this number. */
  async findLastRowId(tableNumber: string): Promise<number | undefined> {
    const state = await this.states.findOneBy({ number: tableNumber });
    return state ? Number(state.next_row_id) - 1 : undefined;
  }

  /**
   * Copies the next rows, up to `lastRowId`, and renames column keys by `keys`, with the state of computed columns.
   * Skips rows whose key is taken. Undefined when the table has changed since it was read.
   */
  async copyRows(
    tx: Sql,
    table: Pick<TableWithColumns, 'number' | 'bot_id' | 'version' | 'key_column' | 'columns'>,
    source: { sourceNumber: string; lastRowId: number; keys: Record<string, string> },
    afterId: number,
    limit: number,
  ): Promise<(Passed & { stored: number }) | undefined> {
    const [passed] = await tx.query<Passed & { stored: number }>(
      `WITH page AS (
         SELECT id, row_number() OVER (ORDER BY id) AS place,
           (SELECT coalesce(jsonb_object_agg($3::jsonb ->> key, value), '{}')
              FROM jsonb_each(data) WHERE $3::jsonb ? key) AS data,
           (SELECT jsonb_object_agg($3::jsonb ->> key, value) FROM jsonb_each(computed) WHERE $3::jsonb ? key) AS computed,
           (SELECT array_agg($3::jsonb ->> key) FROM unnest(stale) AS key WHERE $3::jsonb ? key) AS stale
         FROM (SELECT * FROM row WHERE table_number = $1 AND id > $2 AND id <= $4 ORDER BY id LIMIT $5) AS source),
       total AS (SELECT count(*)::int AS rows, max(id) AS last_id, bool_or(stale IS NOT NULL) AS is_stale FROM page),
       state AS (
         UPDATE table_state SET next_row_id = next_row_id + total.rows FROM total
         WHERE number = $6 AND version = $7
         RETURNING next_row_id - total.rows AS first_id),
       fresh AS (
         INSERT INTO row (table_number, id, key, data, computed, stale, unindexed)
         SELECT $6, first_id + place - 1, row_key(data -> $8), data, computed, stale, $9 FROM state, page
         ON CONFLICT DO NOTHING RETURNING 1),
       stored AS (SELECT count(*)::int AS count FROM fresh),
       wasted AS (
         UPDATE "table" SET unused_ids = unused_ids + total.rows - stored.count FROM total, stored
         WHERE number = $6 AND stored.count < total.rows),
       queued AS (${addReadyWork(
         `SELECT queue, $6::text AS key, $10::text AS tenant, 'null'::jsonb AS payload
          FROM state, total, LATERAL (VALUES ('${computeRows.name}', is_stale), ('${indexRows.name}', $9)) AS kind (queue, is_needed)
          WHERE is_needed AND total.rows > 0`,
       )})
       SELECT total.last_id AS "lastId", total.rows, stored.count AS stored FROM state, total, stored`,
      [
        source.sourceNumber,
        afterId,
        toJsonb(source.keys),
        source.lastRowId,
        limit,
        table.number,
        table.version,
        keyColumnOf(table)?.key ?? null,
        [...table.columns.values()].some(isSearchable),
        table.bot_id,
      ],
    );
    return passed;
  }
}
