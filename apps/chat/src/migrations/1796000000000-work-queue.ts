import type { Migration } from '@parley/persistence/service-schema';
import { workTable1796000000000 } from '@parley/work-queue/migrations/1796000000000-work-table';
import type { QueryRunner } from 'typeorm';

const moveTombstones = `
  INSERT INTO work (queue, key, tenant, payload, state, due_at, created_at)
  SELECT 'chat.eraseBots', bot_id, bot_id, 'null', 'waiting', now(), dropped_at FROM dropped_bot;
  INSERT INTO work (queue, key, tenant, payload, state, due_at, created_at)
  SELECT 'chat.eraseConversations', conversation_id, bot_id, 'null', 'waiting', now(), dropped_at
  FROM dropped_conversation;
  ALTER TABLE dropped_bot DROP COLUMN dropped_at, DROP COLUMN due_at;
  DROP TABLE dropped_conversation;
`;

export class WorkQueue1796000000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(workTable1796000000000);
    await runner.query(moveTombstones);
  }
}
