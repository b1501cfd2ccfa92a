import type { Migration } from '@parley/persistence/service-schema';
import { workTable1796000000000 } from '@parley/work-queue/migrations/1796000000000-work-table';
import type { QueryRunner } from 'typeorm';

export class WorkQueue1796000000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(workTable1796000000000);
    await runner.query(`
      INSERT INTO work (queue, key, tenant, payload, state, due_at)
      SELECT 'tables.' || kind, number::text, bot_id, 'null', 'waiting', now()
      FROM table_work JOIN "table" ON number = table_number;

      INSERT INTO work (queue, key, tenant, payload, state, due_at)
      SELECT 'tables.erasure', number::text, bot_id, 'null', 'waiting', now() FROM dropped_rows;

      INSERT INTO work (queue, key, tenant, ordering_key, payload, state, due_at)
      SELECT 'tables.jobs', id, bot_id, bot_id, 'null', 'waiting', now()
      FROM job WHERE status IN ('pending', 'in_progress', 'finalizing') ORDER BY id;

      DROP TABLE table_work;
      DROP TABLE dropped_rows;
      ALTER TABLE job DROP COLUMN lease, DROP COLUMN worker, DROP COLUMN heartbeat_at, DROP COLUMN due_at, DROP COLUMN attempts;
    `);
  }
}
