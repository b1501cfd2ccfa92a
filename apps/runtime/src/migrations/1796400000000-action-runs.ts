import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class ActionRuns1796400000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE action_run (
        bot_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        integration_name text COLLATE "C",
        type text NOT NULL,
        input jsonb NOT NULL,
        input_truncated boolean NOT NULL,
        output jsonb,
        output_truncated boolean NOT NULL,
        duration_ms integer NOT NULL,
        error text,
        created_at timestamptz(3) NOT NULL,
        PRIMARY KEY (bot_id, id)
      );
      CREATE INDEX action_run_of_bot ON action_run (bot_id, created_at, id);
      CREATE INDEX action_run_of_integration ON action_run (bot_id, integration_name, created_at, id)
        WHERE integration_name IS NOT NULL;
      CREATE INDEX action_run_created ON action_run (created_at);
    `);
  }
}
