import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Jobs1700000004040 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Work on a table that goes on after the request. It ends with its table.
      CREATE TABLE job (
        id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        table_id text COLLATE "C" NOT NULL REFERENCES "table" ON DELETE CASCADE,
        type text NOT NULL,
        status text NOT NULL DEFAULT 'pending'
          CHECK (status IN ('pending', 'in_progress', 'finalizing', 'completed', 'failed')),
        -- What the type needs to know.
        task jsonb NOT NULL,
        input_file_id text,
        output_file_id text,
        progress integer NOT NULL DEFAULT 0,
        -- How much of its source is done, in units of the type. Grows in the commit of what was done.
        position bigint NOT NULL DEFAULT 0,
        rows bigint NOT NULL DEFAULT 0,
        failed_rows bigint NOT NULL DEFAULT 0,
        -- The first of what is wrong with single rows.
        errors text[] NOT NULL DEFAULT '{}',
        warnings text[] NOT NULL DEFAULT '{}',
        failed_reason text,
        -- The one taking that may write, whose it is, and when it was last seen alive.
        lease text COLLATE "C",
        worker text,
        heartbeat_at timestamptz,
        due_at timestamptz NOT NULL DEFAULT now(),
        -- Tries since it last came any further.
        attempts integer NOT NULL DEFAULT 0,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now()
      );
      CREATE INDEX job_table ON job (table_id, id);
      CREATE INDEX job_unfinished ON job (bot_id, id) WHERE status IN ('pending', 'in_progress', 'finalizing');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE job');
  }
}
