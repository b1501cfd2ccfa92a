import type { ColumnSchema, TableSchema } from '@parley/contracts/tables/table-schema';

export interface TableColumn {
  name: string;
  /** Name of the column in `row.data`. */
  key: string;
  schema: ColumnSchema;
}

/** Table number and schema: what the keys of columns depend on. */
export interface TableSchemaRow {
  number: string;
  schema: TableSchema;
}

export interface KeyedTable {
  key_column: string | null;
  columns: ReadonlyMap<string, TableColumn>;
}

/** Columns by name, in the order of their index. */
export function columnsOf({ number, schema }: TableSchemaRow): Map<string, TableColumn> {
  const columns = Object.entries(schema.properties).map(([name, column]) => ({
    name,
    key: columnKey(number, column['x-zui'].index),
    schema: column,
  }));
  columns.sort((a, b) => a.schema['x-zui'].index - b.schema['x-zui'].index);
  return new Map(columns.map((column) => [column.name, column]));
}

export function keyColumnOf({ key_column, columns }: KeyedTable): TableColumn | undefined {
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
