import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Providers1797300000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE provider (
        id text COLLATE "C" PRIMARY KEY,
        position integer NOT NULL,
        sealed_key text,
        settings jsonb NOT NULL
      );

      CREATE TABLE provider_state (
        id text COLLATE "C" PRIMARY KEY,
        seen_at timestamptz(3),
        failing_since timestamptz(3),
        last_error text,
        last_error_at timestamptz(3),
        models jsonb,
        next_call_at timestamptz NOT NULL DEFAULT '-infinity'
      ) WITH (fillfactor = 50);
    `);
  }
}
