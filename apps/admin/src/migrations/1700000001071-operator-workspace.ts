import type { MigrationInterface, QueryRunner } from 'typeorm';

export class OperatorWorkspace1700000001071 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Workspace that was created at the first start of the platform.
      ALTER TABLE workspace ADD COLUMN is_operators boolean NOT NULL DEFAULT false;
      CREATE UNIQUE INDEX workspace_operators ON workspace (is_operators) WHERE is_operators;

      -- In an existing database the oldest workspace, unless it lost the handle that the first start gave it.
      UPDATE workspace SET is_operators = true
        WHERE handle = 'default' AND id = (SELECT id FROM workspace ORDER BY created_at, id LIMIT 1);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE workspace DROP COLUMN is_operators');
  }
}
