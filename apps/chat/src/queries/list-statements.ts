import { Keyset, type LeadingColumn } from '@parley/persistence/keyset';

export function givenColumns(columns: Record<string, string | undefined>, values: unknown[]): LeadingColumn[] {
  return Object.entries(columns)
    .filter(([, value]) => value !== undefined)
    .map(([sql, value]) => ({ sql, value: `$${values.push(value)}` }));
}

export function toEquality({ sql, value }: LeadingColumn): string {
  return `${sql} = ${value}`;
}

/** SQL condition for an inclusive range; both bounds are parameter numbers whose values may be null. */
export function isWithin(column: string, [after, before]: [number, number]): string {
  return `($${after}::timestamptz IS NULL OR ${column} >= $${after}) AND ($${before}::timestamptz IS NULL OR ${column} <= $${before})`;
}

/** Keyset for the order newest first. `time` and `id` are SQL: columns, or the expressions that `taggedRows` returns. */
export function newestFirst<Row extends { created_at: Date | string; id: string }>(
  time: string,
  id: string,
  leading?: LeadingColumn,
): Keyset<Row> {
  return new Keyset<Row>(
    [
      { sql: time, type: 'timestamptz', of: (row) => row.created_at },
      { sql: id, type: 'text', of: (row) => row.id },
    ],
    'desc',
    leading,
  );
}
