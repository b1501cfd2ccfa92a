import { Keyset, type LeadingColumn } from '@parley/database/keyset';

/** The order of creation, by SQL of the time and of the id; as `Source` of tagged rows gives them, or of the rows themselves. */
export function newestFirst<Row extends { created_at: Date; id: string }>(
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
