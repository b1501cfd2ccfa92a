import type { Table } from '@parley/contracts/tables/table-definition';
import type { ColumnSchema, TableSchema } from '@parley/contracts/tables/table-schema';

/** Row of `"table"`, with the version from `table_state`. */
export interface TableRow {
  id: string;
  /** `bigint`, returned as text. Identifies the rows of the table; a table that is emptied gets a new number. */
  number: string;
  bot_id: string;
  name: string;
  factor: number;
  frozen: boolean;
  key_column: string | null;
  schema: TableSchema;
  next_index: number;
  tags: Record<string, string>;
  is_compute_enabled: boolean;
  version: number;
  created_at: Date;
  updated_at: Date;
}

export interface Column {
  name: string;
  /** Name of the column in `row.data`. */
  key: string;
  schema: ColumnSchema;
}

export interface TableWithColumns extends TableRow {
  columns: Map<string, Column>;
}

/** Columns by name, in the order of their index. */
export function columnsOf({ number, schema }: Pick<TableRow, 'number' | 'schema'>): Map<string, Column> {
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
}: Pick<TableWithColumns, 'key_column' | 'columns'>): Column | undefined {
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
