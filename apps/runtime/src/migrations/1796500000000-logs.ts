import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Logs1796500000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE log (
        bot_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        level text NOT NULL,
        message text NOT NULL,
        event_id text COLLATE "C",
        conversation_id text COLLATE "C",
        user_id text COLLATE "C",
        workflow_id text COLLATE "C",
        trace_id text COLLATE "C",
        created_at timestamptz(3) NOT NULL,
        PRIMARY KEY (bot_id, created_at, id)
      ) PARTITION BY RANGE (created_at);
      CREATE INDEX log_of_conversation ON log (bot_id, conversation_id, created_at, id)
        WHERE conversation_id IS NOT NULL;
      CREATE INDEX log_of_user ON log (bot_id, user_id, created_at, id) WHERE user_id IS NOT NULL;
      CREATE TABLE log_default PARTITION OF log DEFAULT;
    `);
  }
}
