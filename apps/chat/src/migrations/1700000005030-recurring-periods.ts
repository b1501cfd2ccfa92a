import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RecurringPeriods1700000005030 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Distance of next_at from the time of its computation. If next_at is further away than that, the clock went back since,
      -- and it is computed again. 0: always computed again.
      ALTER TABLE recurring_event ADD COLUMN period_seconds integer NOT NULL DEFAULT 0;
      CREATE INDEX recurring_event_computed ON recurring_event ((next_at AT TIME ZONE 'UTC' - period_seconds * interval '1 second'))
        WHERE next_at IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX recurring_event_computed; ALTER TABLE recurring_event DROP COLUMN period_seconds');
  }
}
