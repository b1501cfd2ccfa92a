import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class RecurringFailures1796200000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE recurring_failure (
        bot_id text COLLATE "C" NOT NULL REFERENCES bot ON DELETE CASCADE,
        name text COLLATE "C" NOT NULL,
        failed_attempts integer NOT NULL,
        last_failure_reason text,
        revision bigint NOT NULL,
        PRIMARY KEY (bot_id, name)
      );
      ALTER TABLE bot_plugin ADD COLUMN recurring_events jsonb NOT NULL DEFAULT '{}';
    `);
  }
}
