import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class CallsOfConversations1797500000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX model_call_of_conversation ON model_call (bot_id, conversation_id, id)
        WHERE conversation_id IS NOT NULL;
    `);
  }
}
