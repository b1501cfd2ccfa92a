import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class RowModel1797100000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE row_model (
        is_only boolean PRIMARY KEY DEFAULT true CONSTRAINT row_model_single CHECK (is_only),
        model text NOT NULL,
        next jsonb
      );
    `);
  }
}
