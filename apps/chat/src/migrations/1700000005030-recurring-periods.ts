import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RecurringPeriods1700000005030 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- How far ahead the next time was when it was computed. One that is further ahead than that was computed by a clock
      -- that went back since. 0 is computed anew.
      ALTER TABLE recurring_event ADD COLUMN period_seconds integer NOT NULL DEFAULT 0;
      CREATE INDEX recurring_event_computed ON recurring_event ((next_at AT TIME ZONE 'UTC' - period_seconds * interval '1 second'))
        WHERE next_at IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX recurring_event_computed; ALTER TABLE recurring_event DROP COLUMN period_seconds');
  }
}
