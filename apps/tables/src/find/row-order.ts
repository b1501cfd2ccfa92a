import { ApiError } from '@parley/contracts/errors';
import { type ColumnPlace, type Columns, findPlace, noPlace, type Place, valueAt } from './place';

export type Direction = 'asc' | 'desc';

export interface RowOrder {
  place: Place;
  direction: Direction;
}

/** By id when nothing is said. Throws InvalidPayload. */
export function readOrder(columns: Columns, orderBy = 'id', direction: Direction = 'asc'): RowOrder {
  const place = findPlace(columns, orderBy);
  if (!place) throw new ApiError('InvalidPayload', `orderBy "${orderBy}" ${noPlace(columns)}.`);
  return { place, direction };
}

/** What stands behind ORDER BY, over `row`; its values are appended. Rows with the same value are in the order of ids. */
export function orderTerms({ place, direction }: RowOrder, values: unknown[]): string {
  switch (place.kind) {
    case 'id':
      return `row.id ${direction}`;
    case 'time':
      return `${place.sql} ${direction}, row.id`;
    case 'column':
      return `${valueTerms(valueAt(place, values), place.type, direction)}, row.id`;
  }
}

/**
 * Orders `jsonb`: numbers by value, texts by code point, what has no value last in both directions. Where values are of
 * several types, numbers come before texts, these before booleans, and these before objects and arrays, which are in no
 * order among each other.
 */
export function valueTerms(value: string, type: ColumnPlace['type'], direction: Direction): string {
  const rank = `CASE jsonb_typeof(${value}) WHEN 'number' THEN 1 WHEN 'string' THEN 2 WHEN 'boolean' THEN 3
    WHEN 'object' THEN 4 WHEN 'array' THEN 4 END`;
  const number = `CASE WHEN jsonb_typeof(${value}) = 'number' THEN ${value} END`;
  const text = `CASE WHEN jsonb_typeof(${value}) IN ('string', 'boolean') THEN (${value}) #>> '{}' END COLLATE "C"`;
  return termsFor(type, { rank, number, text })
    .map((term) => `${term} ${direction} NULLS LAST`)
    .join(', ');
}

function termsFor(type: ColumnPlace['type'], { rank, number, text }: Record<'rank' | 'number' | 'text', string>) {
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
