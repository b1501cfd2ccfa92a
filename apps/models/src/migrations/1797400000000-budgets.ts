import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Budgets1797400000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE budget ADD COLUMN version bigint NOT NULL DEFAULT 0;

      CREATE TABLE budget_notice (
        scope text NOT NULL,
        scope_id text COLLATE "C" NOT NULL,
        month text COLLATE "C" NOT NULL,
        version bigint NOT NULL,
        percent integer NOT NULL,
        PRIMARY KEY (scope, scope_id, month, version, percent),
        CONSTRAINT budget_notice_scope_check CHECK (scope IN ('bot', 'workspace'))
      );

      CREATE TABLE use_report (
        singleton boolean PRIMARY KEY,
        reported_until timestamptz(3) NOT NULL,
        CONSTRAINT use_report_singleton_check CHECK (singleton)
      );
      INSERT INTO use_report SELECT true, coalesce(min(created_at), now()) FROM model_call;
    `);
  }
}
