import type { ColumnPlace, Place } from './place';

export type Comparison = '>' | '>=' | '<' | '<=';

/**
 * Which rows are meant. Each condition holds for a row or it does not, so `not` is the plain opposite; what holds:
 *
 * - Absent is null: `{ a: null }` and `{ a: { $exists: false } }` are the same, and so are `$exists: true` and
 *   `{ $ne: null }`. In `$in`, null stands for rows without a value.
 * - `$ne` and `$nin` are the opposites of `$eq` and `$in`, so they hold for rows without a value.
 * - A value of another type is neither equal, greater nor less, and matches nothing. Literals that can never fit the type
 *   of a column are refused; inside of an object everything can be.
 * - Where there is an array, a condition holds when it holds for one of its elements; equality also when the array is
 *   equal as a whole. Objects are equal when their fields are, in whatever order.
 * - Numbers compare as numbers, texts by code point, date-time columns and those of the platform as points in time. In a
 *   date-time column, `$regex` sees the text in UTC with milliseconds.
 * - `$mod: [divisor, remainder]` ignores what is behind the point of a number; the remainder has the sign of the number.
 * - `$regex` is a regular expression of Postgres that is found anywhere in the text; `$options: 'i'` ignores case.
 */
export type Filter =
  | { kind: 'all' | 'some'; of: Filter[] }
  | { kind: 'not'; of: Filter }
  | { kind: 'exists'; place: Place }
  | { kind: 'equals'; place: Place; value: unknown }
  | { kind: 'one of'; place: Place; values: unknown[] }
  | { kind: 'compare'; place: Place; comparison: Comparison; value: number | string }
  | { kind: 'remainder'; place: Place; divisor: number; remainder: number }
  | { kind: 'size'; place: ColumnPlace; size: number }
  /** `name` is the path in the request, for whoever finds that Postgres does not take the expression. */
  | { kind: 'matches'; place: ColumnPlace; name: string; pattern: string; isCaseSensitive: boolean };

export type Matches = Extract<Filter, { kind: 'matches' }>;

/** The regular expressions of a filter. Only Postgres can tell whether they are valid. */
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
