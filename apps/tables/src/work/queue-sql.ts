/**
 * After `INSERT INTO table_work (table_number, kind)`: the table is due now. One that is put off because of a server that
 * cannot take more stays so; one that is taken just now shows that there is more to do. Several kinds go in their order
 * everywhere (`ORDER BY kind`), so that nobody waits in a circle.
 */
export const dueNow = `ON CONFLICT (table_number, kind) DO UPDATE SET due_at =
  CASE WHEN table_work.attempts > 0 AND table_work.lease IS NULL THEN table_work.due_at
  ELSE least(table_work.due_at, now()) END`;
