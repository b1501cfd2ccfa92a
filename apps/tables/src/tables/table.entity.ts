import type { Table } from '@parley/contracts/tables/table-definition';
import type { TableSchema } from '@parley/contracts/tables/table-schema';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';
import { columnsOf, type TableColumn } from '../schema/columns';

/** Definition of a table: name, columns and settings. */
@Entity('table')
@Unique('table_name', ['bot_id', 'name'])
@Index('table_lexicon', ['lexicon'])
export class TableEntity {
  @PrimaryIdColumn() id!: string;

  /**
   * `bigint`, which arrives as text. Identifies the rows of the table, shorter than its id; an emptied table gets a new
   * number.
   */
  @Column('bigint', { unique: true }) number!: string;

  @IdColumn() bot_id!: string;
  @IdColumn() name!: string;
  @Column('integer') factor!: number;
  @Column('boolean') frozen!: boolean;
  @Column('text', { nullable: true }) key_column!: string | null;
  @Column('jsonb') schema!: TableSchema;

  /** Index for the next new column. */
  @Column('integer') next_index!: number;

  @Column('jsonb') tags!: Record<string, string>;
  @Column('boolean') is_compute_enabled!: boolean;

  /** Ids below `next_row_id` without a row, so that rows are counted without a scan. `bigint`, as text. */
  @Column('bigint', { default: 0 }) unused_ids!: string;

  /** Version of the lexicon that the words of its rows in the passage index are from, the oldest if they differ. */
  @Column('integer', { default: 1 }) lexicon!: number;

  /** Rows from here on may have words of an older lexicon. */
  @Column('integer', { default: 0 }) next_worded_id!: number;

  @TimestampColumn() created_at!: Date;
  @TimestampColumn() updated_at!: Date;
}

/** Condition of SQL: a column of the table is searchable. */
export const hasSearchableColumn = `jsonb_path_exists(schema, '$.properties.*."x-zui" ? (@.searchable == true)')`;

/** State of a table that changes with every insert, and the lock that keeps its rows and its schema consistent. */
@Entity('table_state')
export class TableStateEntity {
  /** Number of the table. `bigint`, which arrives as text. */
  @PrimaryColumn('bigint') number!: string;

  @Column('integer', { default: 1 }) version!: number;

  /** `bigint`, which arrives as text. */
  @Column('bigint', { default: 1 }) next_row_id!: string;
}

/** Table with the version from `table_state`. */
export interface TableRow extends TableEntity {
  version: number;
}

/** Condition that the table exists with this version; appends its parameters to `values`. Cost: one row by key. */
export function tableIsCurrent({ number, version }: Pick<TableRow, 'number' | 'version'>, values: unknown[]): string {
  const current = `(SELECT version FROM table_state WHERE number = $${values.push(number)}::bigint)`;
  return `${current} = $${values.push(version)}::int`;
}

export interface TableWithColumns extends TableRow {
  columns: Map<string, TableColumn>;
}

export function withColumns(table: TableRow): TableWithColumns {
  return { ...table, columns: columnsOf(table) };
}

export function toTable(row: TableRow): Table {
  // Postgres does not keep the order of the fields of a `jsonb` object.
  const columns = [...columnsOf(row).values()];
  return {
    id: row.id,
    name: row.name,
    factor: row.factor,
    frozen: row.frozen,
    keyColumn: row.key_column,
    schema: { ...row.schema, properties: Object.fromEntries(columns.map(({ name, schema }) => [name, schema])) },
    tags: row.tags,
    isComputeEnabled: row.is_compute_enabled,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
