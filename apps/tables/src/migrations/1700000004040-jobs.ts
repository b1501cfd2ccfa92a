import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Jobs1700000004040 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Background jobs of tables. A job is deleted with its table.
      CREATE TABLE job (
        id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        table_id text COLLATE "C" NOT NULL REFERENCES "table" ON DELETE CASCADE,
        type text NOT NULL,
        status text NOT NULL DEFAULT 'pending'
          CHECK (status IN ('pending', 'in_progress', 'finalizing', 'completed', 'failed')),
        -- Payload, depending on the type.
        task jsonb NOT NULL,
        input_file_id text,
        output_file_id text,
        progress integer NOT NULL DEFAULT 0,
        -- Progress in units of the type. Updated in the transaction of the work.
        position bigint NOT NULL DEFAULT 0,
        rows bigint NOT NULL DEFAULT 0,
        failed_rows bigint NOT NULL DEFAULT 0,
        -- First errors of single rows.
        errors text[] NOT NULL DEFAULT '{}',
        warnings text[] NOT NULL DEFAULT '{}',
        failed_reason text,
        -- Current lease, the only one that may write, its worker and its last heartbeat.
        lease text COLLATE "C",
        worker text,
        heartbeat_at timestamptz,
        due_at timestamptz NOT NULL DEFAULT now(),
        -- Attempts since the last progress.
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
