import { Keyset, type LeadingColumn } from '@parley/persistence/keyset';

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
