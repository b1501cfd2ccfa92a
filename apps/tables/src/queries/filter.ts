import type { DataColumn, ColumnReference } from './column-reference';

export type Comparison = '>' | '>=' | '<' | '<=';

/**
 * Filter: a predicate over rows. Every condition is true or false for a row, never null, so `not` is plain negation.
 *
 * - Absent is null: `{ a: null }` equals `{ a: { $exists: false } }`, and `$exists: true` equals `{ $ne: null }`. In
 *   `$in`, null matches rows without a value.
 * - `$ne` and `$nin` negate `$eq` and `$in`, so they match rows without a value.
 * - A value of another type is neither equal, greater nor less, and matches nothing. Literals that cannot have the type
 *   of their column are refused; inside of an object every literal is allowed.
 * - For an array, a condition holds when it holds for one of its elements; equality also when the whole array is equal.
 *   Objects are equal when their fields are, in any order.
 * - Numbers compare as numbers, texts by code point, date-time columns, createdAt and updatedAt as points in time. In a
 *   date-time column, `$regex` matches the text in UTC with milliseconds.
 * - `$mod: [divisor, remainder]` ignores the fraction of a number; the remainder has the sign of the number.
 * - `$regex` is a regular expression of Postgres that matches anywhere in the text; `$options: 'i'` ignores case.
 */
export type Filter =
  | { kind: 'all' | 'some'; of: Filter[] }
  | { kind: 'not'; of: Filter }
  | { kind: 'exists'; column: ColumnReference }
  | { kind: 'equals'; column: ColumnReference; value: unknown }
  | { kind: 'one of'; column: ColumnReference; values: unknown[] }
  | { kind: 'compare'; column: ColumnReference; comparison: Comparison; value: number | string }
  | { kind: 'remainder'; column: ColumnReference; divisor: number; remainder: number }
  | { kind: 'size'; column: DataColumn; size: number }
  /** `name` is the path in the request, for error messages. */
  | { kind: 'matches'; column: DataColumn; name: string; pattern: string; isCaseSensitive: boolean };

export type Matches = Extract<Filter, { kind: 'matches' }>;

/** Regular expressions of a filter. Only Postgres can validate them. */
export function expressionsOf(filter: Filter): Matches[] {
  switch (filter.kind) {
    case 'all':
    case 'some':
      return filter.of.flatMap(expressionsOf);
    case 'not':
      return expressionsOf(filter.of);
    case 'matches':
      return [filter];
    case 'exists':
    case 'equals':
    case 'one of':
    case 'compare':
    case 'remainder':
    case 'size':
      return [];
  }
}
