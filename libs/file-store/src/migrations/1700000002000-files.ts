import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Files1700000002000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE file (
        id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        key text COLLATE "C" NOT NULL,
        content_type text NOT NULL,
        declared_size bigint NOT NULL,
        -- Bytes of the newest content; null until there is one.
        size bigint,
        tags jsonb NOT NULL,
        metadata jsonb NOT NULL,
        access_policies text[] NOT NULL,
        index boolean NOT NULL,
        indexing jsonb NOT NULL,
        immediately_public boolean NOT NULL,
        status text NOT NULL CHECK (status IN ('upload_pending', 'upload_failed', 'upload_completed',
          'indexing_pending', 'indexing_failed', 'indexing_completed')),
        failed_status_reason text,
        expires_at timestamptz(3),
        -- Declaration that an upload URL is valid for.
        upload_id text COLLATE "C" NOT NULL,
        upload_expires_at timestamptz(3) NOT NULL,
        -- Newest accepted content, and the version whose passages readers see.
        content_version text COLLATE "C",
        active_version text COLLATE "C",
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT file_key UNIQUE (bot_id, key)
      );
      CREATE INDEX file_created ON file (bot_id, created_at, id);
      CREATE INDEX file_lapsed ON file (upload_expires_at) WHERE status = 'upload_pending';
      CREATE INDEX file_expired ON file (expires_at) WHERE expires_at IS NOT NULL;

      -- Uploads under way: their heartbeat (touched_at) keeps the blob from being removed as garbage.
      CREATE TABLE upload (
        content_version text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        file_id text COLLATE "C" NOT NULL,
        touched_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX upload_file ON upload (file_id);

      -- Job queue: one row for each content version, until it is indexed.
      CREATE TABLE indexing_job (
        file_id text COLLATE "C" NOT NULL,
        content_version text COLLATE "C" NOT NULL,
        bot_id text COLLATE "C" NOT NULL,
        stage text NOT NULL DEFAULT 'announced'
          CHECK (stage IN ('announced', 'taken', 'parsed', 'embedding', 'written', 'switching')),
        attempts integer NOT NULL DEFAULT 0,
        -- Process that holds the job, and the lease without which nothing may be written.
        taken_by text,
        lease text COLLATE "C",
        heartbeat_at timestamptz,
        announced_at timestamptz NOT NULL DEFAULT now(),
        announcements integer NOT NULL DEFAULT 1,
        passages integer,
        passages_written integer NOT NULL DEFAULT 0,
        last_error text,
        PRIMARY KEY (file_id, content_version)
      );
      CREATE INDEX indexing_job_bot ON indexing_job (bot_id);

      CREATE TABLE passage (
        file_id text COLLATE "C" NOT NULL,
        content_version text COLLATE "C" NOT NULL,
        position integer NOT NULL,
        id uuid NOT NULL,
        bot_id text COLLATE "C" NOT NULL,
        content text NOT NULL,
        subtype text NOT NULL,
        page_number integer,
        breadcrumb text[] NOT NULL,
        PRIMARY KEY (file_id, content_version, position)
      );
      CREATE INDEX passage_bot ON passage (bot_id);

      -- Cleanup queue: files that may have blobs, passages or points that they no longer need.
      CREATE TABLE untidy_file (
        file_id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        due_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX untidy_file_due ON untidy_file (due_at);

      -- Deleted bots, for which all writes are rejected.
      CREATE TABLE deleted_bot (
        bot_id text COLLATE "C" PRIMARY KEY,
        deleted_at timestamptz NOT NULL DEFAULT now(),
        erased_at timestamptz
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE deleted_bot, untidy_file, passage, indexing_job, upload, file');
  }
}
