import type { CellState, Row } from '@parley/contracts/tables/rows';
import { IdColumn, TimestampColumn } from '@parley/persistence/columns';
import { isoTime } from '@parley/persistence/timestamps';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { TableColumn } from '../schema/columns';

/** Row of a table. The SQL table is partitioned by the hash of `table_number`. */
@Entity('row')
@Index('row_key', ['table_number', 'key'], { unique: true, where: 'key IS NOT NULL' })
// TypeORM cannot declare its operator class and its storage parameter.
@Index('row_data', { synchronize: false })
@Index('row_stale', ['table_number', 'id'], { where: 'stale IS NOT NULL' })
@Index('row_unindexed', ['table_number', 'id'], { where: 'unindexed' })
export class RowEntity {
  /** `bigint`, which arrives as text. */
  @PrimaryColumn('bigint') table_number!: string;

  @PrimaryColumn('integer') id!: number;

  /** `row_key` of the value of the key column. It remains when the table loses its key column. */
  @IdColumn({ nullable: true }) key!: string | null;

  /** Values by column key; absent is null. */
  @Column('jsonb') data!: Record<string, unknown>;

  /** State of each computed column, by column key. */
  @Column('jsonb', { nullable: true }) computed!: Record<string, CellState> | null;

  /** Keys of the computed columns with an outdated value. */
  @Column('text', { array: true, nullable: true }) stale!: string[] | null;

  /** The searchable text is not in the passage index yet. */
  @Column('boolean', { default: false }) unindexed!: boolean;

  @Column('integer', { default: 1 }) revision!: number;
  @TimestampColumn() created_at!: Date;
  @TimestampColumn() updated_at!: Date;
}

export type StoredRow = Omit<RowEntity, 'table_number' | 'key' | 'revision'>;

/** Row to answer: its times may be text in ISO 8601. */
export type ListedRow = Pick<StoredRow, 'id' | 'data' | 'computed' | 'stale'> &
  Record<'created_at' | 'updated_at', Date | string>;

/** Row to answer as text: times in ISO 8601, and JSON. */
export interface TextRow extends Pick<StoredRow, 'id' | 'stale'> {
  created_at: string;
  updated_at: string;
  data: string;
  computed: string | null;
}

export function toRow(
  columns: Iterable<TableColumn>,
  { id, data, computed, stale, created_at, updated_at }: ListedRow,
): Row {
  const row: Row = { id, createdAt: isoTime(created_at), updatedAt: isoTime(updated_at), computed: {} };
  const staleNames: string[] = [];
  for (const { name, key } of columns) {
    row[name] = data[key] ?? null;
    if (!computed && !stale) continue;
    const state = computed?.[key];
    if (state) row.computed[name] = state;
    if (stale?.includes(key)) staleNames.push(name);
  }
  if (staleNames.length > 0) row.stale = staleNames;
  return row;
}
