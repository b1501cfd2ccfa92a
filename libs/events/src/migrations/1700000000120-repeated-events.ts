import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lets an outbox row replay an event to one of its consumers. */
export class RepeatedEvents1700000000120 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE outbox
        ADD COLUMN repeats text COLLATE "C",
        ADD COLUMN consumer text,
        ADD CHECK ((repeats IS NULL) = (consumer IS NULL));
      COMMENT ON COLUMN outbox.repeats IS 'The event that is handed to this consumer alone, once more.';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE outbox DROP COLUMN repeats, DROP COLUMN consumer');
  }
}
