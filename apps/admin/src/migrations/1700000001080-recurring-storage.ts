import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Existing bots start to count with their next change of recurring events. */
export class RecurringStorage1700000001080 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Reserved bytes: payloads of the recurring events within the event retention. Part of the bot's storage usage.
      ALTER TABLE bot ADD COLUMN recurring_bytes bigint NOT NULL DEFAULT 0`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE bot DROP COLUMN recurring_bytes');
  }
}
