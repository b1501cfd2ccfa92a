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
    `);
  }
}
