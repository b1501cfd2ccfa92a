import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class OutgoingChanges1796600000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE outgoing_change (
        bot_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        conversation_id text COLLATE "C" NOT NULL,
        message_id text COLLATE "C",
        previous jsonb NOT NULL,
        current jsonb NOT NULL,
        created_at timestamptz(3) NOT NULL,
        PRIMARY KEY (bot_id, id)
      );
      CREATE UNIQUE INDEX outgoing_change_of_conversation ON outgoing_change (bot_id, conversation_id, created_at);
      CREATE INDEX outgoing_change_created ON outgoing_change (created_at);
    `);
  }
}
