import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

/** For the schema of each service that has the table. */
export class WorkFailures1796900000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE work ADD COLUMN failures integer NOT NULL DEFAULT 0');
  }
}
