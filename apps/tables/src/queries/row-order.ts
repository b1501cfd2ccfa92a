import { ApiError } from '@parley/contracts/errors';
import {
  type DataColumn,
  type Columns,
  resolveColumn,
  notAColumn,
  type ColumnReference,
  valueAt,
} from './column-reference';

export type Direction = 'asc' | 'desc';

export interface RowOrder {
  column: ColumnReference;
  direction: Direction;
}

/** Default: by id. Throws InvalidPayload. */
export function readOrder(columns: Columns, orderBy = 'id', direction: Direction = 'asc'): RowOrder {
  const column = resolveColumn(columns, orderBy);
  if (!column) throw new ApiError('InvalidPayload', `orderBy "${orderBy}" ${notAColumn(columns)}.`);
  return { column, direction };
}

/** ORDER BY terms over `row`; appends its parameters to `values`. Rows with equal values are ordered by id. */
export function orderTerms({ column, direction }: RowOrder, values: unknown[]): string {
  switch (column.kind) {
    case 'id':
      return `row.id ${direction}`;
    case 'time':
      return `${column.sql} ${direction}, row.id`;
    case 'data':
      return `${valueTerms(valueAt(column, values), column.type, direction)}, row.id`;
  }
}

/**
 * Sort order of `jsonb`: numbers by value, texts by code point, absent values last in both directions. Mixed types:
 * numbers, then texts, booleans, and objects and arrays, which have no order among each other.
 */
export function valueTerms(value: string, type: DataColumn['type'], direction: Direction): string {
  const rank = `CASE jsonb_typeof(${value}) WHEN 'number' THEN 1 WHEN 'string' THEN 2 WHEN 'boolean' THEN 3
    WHEN 'object' THEN 4 WHEN 'array' THEN 4 END`;
  const number = `CASE WHEN jsonb_typeof(${value}) = 'number' THEN ${value} END`;
  const text = `CASE WHEN jsonb_typeof(${value}) IN ('string', 'boolean') THEN (${value}) #>> '{}' END COLLATE "C"`;
  return termsFor(type, { rank, number, text })
    .map((term) => `${term} ${direction} NULLS LAST`)
    .join(', ');
}

function termsFor(type: DataColumn['type'], { rank, number, text }: Record<'rank' | 'number' | 'text', string>) {
  switch (type) {
    case 'number':
      return [number];
    case 'string':
    case 'date-time':
    case 'boolean':
      return [text];
    case 'object':
    case 'array':
    case 'null':
    case 'any':
      return [rank, number, text];
  }
}
