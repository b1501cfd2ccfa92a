import type { Table } from '@parley/contracts/tables/table-definition';
import type { ColumnSchema, TableSchema } from '@parley/contracts/tables/table-schema';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Column, Entity, Unique } from 'typeorm';

/** Definition of a table: name, columns and settings. */
@Entity('table')
@Unique('table_name', ['bot_id', 'name'])
export class TableEntity {
  @PrimaryIdColumn()
  id!: string;

  /**
   * `bigint`, which arrives as text. Identifies the rows of the table, shorter than its id; an emptied table gets a new
   * number.
   */
  @Column('bigint', { unique: true })
  number!: string;

  @IdColumn()
  bot_id!: string;

  @IdColumn()
  name!: string;

  @Column('integer')
  factor!: number;

  @Column('boolean')
  frozen!: boolean;

  @Column('text', { nullable: true })
  key_column!: string | null;

  @Column('jsonb')
  schema!: TableSchema;

  /** Index for the next new column. */
  @Column('integer')
  next_index!: number;

  @Column('jsonb')
  tags!: Record<string, string>;

  @Column('boolean')
  is_compute_enabled!: boolean;

  /** Ids below `next_row_id` without a row, so that rows are counted without a scan. `bigint`, as text. */
  @Column('bigint', { default: 0 })
  unused_ids!: string;

  @TimestampColumn()
  created_at!: Date;

  @TimestampColumn()
  updated_at!: Date;
}

/** Table with the version from `table_state`. */
export interface TableRow extends TableEntity {
  version: number;
}

export interface TableColumn {
  name: string;
  /** Name of the column in `row.data`. */
  key: string;
  schema: ColumnSchema;
}

export interface TableWithColumns extends TableRow {
  columns: Map<string, TableColumn>;
}

/** Columns by name, in the order of their index. */
export function columnsOf({ number, schema }: Pick<TableRow, 'number' | 'schema'>): Map<string, TableColumn> {
  const columns = Object.entries(schema.properties).map(([name, column]) => ({
    name,
    key: columnKey(number, column['x-zui'].index),
    schema: column,
  }));
  columns.sort((a, b) => a.schema['x-zui'].index - b.schema['x-zui'].index);
  return new Map(columns.map((column) => [column.name, column]));
}

export function withColumns(table: TableRow): TableWithColumns {
  return { ...table, columns: columnsOf(table) };
}

export function keyColumnOf({
  key_column,
  columns,
}: Pick<TableWithColumns, 'key_column' | 'columns'>): TableColumn | undefined {
  return key_column === null ? undefined : columns.get(key_column);
}

/** Whether columns of this type can identify rows, as the key column or in an upsert. */
export function isComparable({ type }: Pick<ColumnSchema, 'type'>): boolean {
  return ['string', 'number', 'boolean'].includes(type);
}

/** Column keys are unique over all tables, so that an entry of the index over `data` belongs to one column. */
function columnKey(number: string, index: number): string {
  return `${Number(number).toString(36)}.${index}`;
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
