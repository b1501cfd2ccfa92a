import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

/** Announces the workspace of every bot. These ids sort before those of all transfers, which therefore stay in force. */
const botHomes = `
  INSERT INTO outbox (id, subject, data)
  SELECT 'outbox_00' || substr(upper(replace(gen_random_uuid()::text, '-', '')), 1, 24), 'admin.botTransferred',
    jsonb_build_object('botId', id, 'workspaceId', workspace_id)
  FROM bot;
`;

export class BotHomes1797300000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(botHomes);
  }
}
