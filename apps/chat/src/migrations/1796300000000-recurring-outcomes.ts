import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class RecurringOutcomes1796300000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE event ADD COLUMN recurring_name text COLLATE "C";
      ALTER TABLE recurring_event
        ADD COLUMN failed_attempts integer NOT NULL DEFAULT 0,
        ADD COLUMN settled_at timestamptz(3) NOT NULL DEFAULT '-infinity';
    `);
  }
}
