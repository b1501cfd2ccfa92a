import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Bots from before count from their next change of recurring events on. */
export class RecurringStorage1700000001080 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Bytes of payloads that the recurring events make within the time for which events are kept. Part of the bot's usage.
      ALTER TABLE bot ADD COLUMN recurring_bytes bigint NOT NULL DEFAULT 0`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE bot DROP COLUMN recurring_bytes');
  }
}
