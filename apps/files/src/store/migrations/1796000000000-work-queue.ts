import type { Migration } from '@parley/persistence/service-schema';
import { workTable1796000000000 } from '@parley/work-queue/migrations/1796000000000-work-table';
import type { QueryRunner } from 'typeorm';

export class WorkQueue1796000000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(workTable1796000000000);
    await runner.query(`
      INSERT INTO work (queue, key, tenant, payload, state, due_at)
      SELECT 'files.cleanup', file_id, bot_id, jsonb_build_object('botId', bot_id, 'fileId', file_id), 'waiting', now()
      FROM untidy_file;
      DROP TABLE untidy_file;
    `);
  }
}
