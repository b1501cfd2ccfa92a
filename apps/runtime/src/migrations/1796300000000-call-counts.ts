import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class CallCounts1796300000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE call_count (
        bot_id text COLLATE "C" NOT NULL,
        month text COLLATE "C" NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        calls bigint NOT NULL,
        reported_at timestamptz(3),
        report_at timestamptz(3),
        PRIMARY KEY (bot_id, month)
      );
      CREATE INDEX call_count_report ON call_count (report_at) WHERE report_at IS NOT NULL;
    `);
  }
}
