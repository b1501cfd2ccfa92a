import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Integrations1796600000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE log
        ADD COLUMN integration_id text COLLATE "C",
        ADD COLUMN is_for_bot boolean NOT NULL DEFAULT true,
        ADD COLUMN is_for_owner boolean NOT NULL DEFAULT false;
      CREATE INDEX log_of_integration ON log (integration_id, created_at, id)
        WHERE integration_id IS NOT NULL AND is_for_owner;
      CREATE TABLE message_delivery (
        bot_id text COLLATE "C" NOT NULL,
        message_id text COLLATE "C" NOT NULL,
        conversation_id text COLLATE "C" NOT NULL,
        status text,
        reason text,
        attempts jsonb NOT NULL,
        created_at timestamptz(3) NOT NULL,
        settled_at timestamptz(3),
        PRIMARY KEY (bot_id, message_id)
      );
      CREATE INDEX message_delivery_settled ON message_delivery (settled_at) WHERE settled_at IS NOT NULL;
    `);
  }
}
