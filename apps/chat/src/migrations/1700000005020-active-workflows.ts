import type { MigrationInterface, QueryRunner } from 'typeorm';

const isActive = `status IN ('pending', 'in_progress', 'listening', 'paused')`;

/** Partial indexes: active workflows stay cheap to find, regardless of how many have ended. */
export class ActiveWorkflows1700000005020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX workflow_active ON workflow (bot_id, name, created_at, id) WHERE ${isActive};
      CREATE INDEX workflow_active_of_conversation ON workflow (bot_id, conversation_id, created_at, id)
        WHERE ${isActive} AND conversation_id IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX workflow_active, workflow_active_of_conversation');
  }
}
