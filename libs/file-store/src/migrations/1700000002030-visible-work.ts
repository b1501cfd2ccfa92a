import type { MigrationInterface, QueryRunner } from 'typeorm';

export class VisibleWork1700000002030 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Last applied transfer event: of two events in the wrong order, the newer one wins.
      ALTER TABLE bot_home ADD COLUMN moved_by text COLLATE "C";

      -- Usage of the workspace, or nulls while a declaration holds the workspace lock. VOLATILE, so that the sum sees all
      -- that was committed before the lock was acquired.
      CREATE FUNCTION use_unless_held(workspace text, OUT file_bytes numeric, OUT vector_bytes numeric)
      LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $$
      BEGIN
        IF pg_try_advisory_xact_lock_shared(hashtextextended('storage/' || workspace, 0)) THEN
          SELECT coalesce(sum(u.file_bytes), 0), coalesce(sum(u.vector_bytes), 0) INTO file_bytes, vector_bytes
          FROM bot_home JOIN storage_use u USING (bot_id) WHERE workspace_id = workspace;
        END IF;
      END $$;

      ALTER TABLE indexing_job ADD COLUMN created_at timestamptz(3) NOT NULL DEFAULT now();
      CREATE INDEX indexing_job_created ON indexing_job (created_at, file_id, content_version);
      CREATE INDEX file_failed ON file (updated_at, id) WHERE status = 'indexing_failed';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX file_failed, indexing_job_created;
      ALTER TABLE indexing_job DROP COLUMN created_at;
      DROP FUNCTION use_unless_held;
      ALTER TABLE bot_home DROP COLUMN moved_by;
    `);
  }
}
