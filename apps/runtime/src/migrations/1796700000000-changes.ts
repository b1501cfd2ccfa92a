import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Changes1796700000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE message_delivery RENAME COLUMN message_id TO id;
      ALTER TABLE message_delivery ADD COLUMN change text;
      UPDATE work SET payload = payload || jsonb_build_object('id', payload -> 'messageId')
      WHERE queue = 'runtime.messageDeliveries';
    `);
  }
}
