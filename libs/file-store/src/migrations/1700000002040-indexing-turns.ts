import type { MigrationInterface, QueryRunner } from 'typeorm';

export class IndexingTurns1700000002040 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Time before which a released job is not taken again.
      ALTER TABLE indexing_job ADD COLUMN due_at timestamptz NOT NULL DEFAULT now();
      CREATE INDEX indexing_job_waiting ON indexing_job (bot_id, created_at) WHERE lease IS NULL;

      -- Fair scheduling: when a job of the bot was last taken. A bot without a row comes first.
      CREATE TABLE indexing_turn (
        bot_id text COLLATE "C" PRIMARY KEY,
        taken_at timestamptz NOT NULL
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE indexing_turn;
      DROP INDEX indexing_job_waiting;
      ALTER TABLE indexing_job DROP COLUMN due_at;
    `);
  }
}
