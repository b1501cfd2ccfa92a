/**
 * Conflict clause for `INSERT INTO table_work (table_number, kind)`: makes the table due now. A postponed table keeps
 * its due time. A leased table becomes due again after its batch. Lock order: insert several kinds with `ORDER BY
 * kind`, which prevents deadlocks.
 */
export const dueNow = `ON CONFLICT (table_number, kind) DO UPDATE SET due_at =
  CASE WHEN table_work.attempts > 0 AND table_work.lease IS NULL THEN table_work.due_at
  ELSE least(table_work.due_at, now()) END`;
