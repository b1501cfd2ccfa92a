import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class RecognisedPassages1797400000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE passage ADD COLUMN is_recognised boolean NOT NULL DEFAULT false');
  }
}
