import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

const columns = `
  ADD COLUMN budget_cost bigint,
  ADD COLUMN budget_tokens bigint,
  ADD COLUMN budget_version integer NOT NULL DEFAULT 0`;

export class Budgets1797400000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of ['workspace', 'bot']) await runner.query(`ALTER TABLE ${table} ${columns}`);
  }
}
