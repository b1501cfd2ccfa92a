import type { ColumnType } from '@parley/contracts/tables/table-schema';
import { toText } from '@parley/persistence/storable';
import type { TableColumn } from '../schema/columns';

export type Columns = ReadonlyMap<string, TableColumn>;

const systemColumns = { id: 'row.id', createdAt: 'row.created_at', updatedAt: 'row.updated_at' } as const;

export type ColumnReference =
  | { kind: 'id'; sql: string }
  | { kind: 'time'; sql: string }
  /** `path` leads into an object or array of the column, where values have type `any`. */
  | { kind: 'data'; key: string; path: string[]; type: ColumnType | 'date-time' | 'any' };

export type DataColumn = Extract<ColumnReference, { kind: 'data' }>;

/**
 * Resolves the name of a column, a system column, or `column.field.field` inside of an object. Positions in arrays
 * count as fields. Undefined when there is none.
 */
export function resolveColumn(columns: Columns, name: string): ColumnReference | undefined {
  if (name === 'id') return { kind: 'id', sql: systemColumns.id };
  if (name === 'createdAt' || name === 'updatedAt') return { kind: 'time', sql: systemColumns[name] };
  const column = columns.get(name);
  if (column) return { kind: 'data', key: column.key, path: [], type: typeOf(column) };
  return resolvePath(columns, name);
}

export function notAColumn(columns: Columns): string {
  return `is not a column of this table. Columns: ${[...columns.keys(), ...Object.keys(systemColumns)].join(', ')}`;
}

/** Splits `column.field.field`. The names of columns can contain dots themselves. */
export function splitName(columns: Columns, name: string): { column: TableColumn; path: string[] } | undefined {
  for (let dot = name.indexOf('.'); dot > 0; dot = name.indexOf('.', dot + 1)) {
    const column = columns.get(name.slice(0, dot));
    const path = toText(name.slice(dot + 1)).split('.');
    if (column && hasInside(column) && path.every((field) => field !== '')) return { column, path };
  }
  return undefined;
}

/** SQL of the value as `jsonb`; NULL or JSON's null when absent. Appends its parameters to `values`. */
export function valueAt({ key, path }: DataColumn, values: unknown[]): string {
  if (path.length === 0) return `row.data -> $${values.push(key)}::text`;
  return `row.data #> $${values.push([key, ...path])}::text[]`;
}

function resolvePath(columns: Columns, name: string): ColumnReference | undefined {
  const found = splitName(columns, name);
  return found && { kind: 'data', key: found.column.key, path: found.path, type: 'any' };
}

function hasInside({ schema }: TableColumn): boolean {
  return schema.type === 'object' || schema.type === 'array';
}

function typeOf({ schema }: TableColumn): DataColumn['type'] {
  return schema.type === 'string' && schema.format === 'date-time' ? 'date-time' : schema.type;
}
