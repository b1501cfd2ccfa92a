import { eventTables1795392000000 } from '@parley/events/migrations/1795392000000-event-tables';
import { localIndexTables1795392000000 } from '@parley/passages/migrations/1795392000000-local-index-tables';
import { idempotencyTables1795392000000 } from '@parley/persistence/migrations/1795392000000-idempotency-tables';
import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Files1795392000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(eventTables1795392000000);
    await runner.query(idempotencyTables1795392000000);
    await runner.query(localIndexTables1795392000000);
    await runner.query(`
      CREATE TABLE file (
        id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        key text COLLATE "C" NOT NULL,
        content_type text NOT NULL,
        declared_size bigint NOT NULL,
        size bigint,
        tags jsonb NOT NULL,
        metadata jsonb NOT NULL,
        access_policies text[] NOT NULL,
        index boolean NOT NULL,
        indexing jsonb NOT NULL,
        immediately_public boolean NOT NULL,
        status text NOT NULL CONSTRAINT file_status_check CHECK (status IN ('upload_pending', 'upload_failed',
          'upload_completed', 'indexing_pending', 'indexing_failed', 'indexing_completed')),
        failed_status_reason text,
        expires_at timestamptz(3),
        upload_id text COLLATE "C" NOT NULL,
        upload_expires_at timestamptz(3) NOT NULL,
        content_version text COLLATE "C",
        active_version text COLLATE "C",
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        namespace text COLLATE "C" NOT NULL DEFAULT '',
        owner_type text NOT NULL DEFAULT 'bot'
          CONSTRAINT file_owner_type_check CHECK (owner_type IN ('bot', 'integration', 'user')),
        owner_id text COLLATE "C",
        blob_version text COLLATE "C",
        are_passages_set boolean NOT NULL DEFAULT false,
        is_active_current boolean NOT NULL DEFAULT false
      );
      -- Hash, since an index entry holds 2,700 bytes, and a key may have 4,000.
      CREATE UNIQUE INDEX file_key ON file (bot_id, md5(key), namespace);
      CREATE INDEX file_created ON file (bot_id, created_at, id);
      CREATE INDEX file_lapsed ON file (upload_expires_at) WHERE status = 'upload_pending';
      CREATE INDEX file_expired ON file (expires_at) WHERE expires_at IS NOT NULL;
      CREATE INDEX file_failed ON file (updated_at, id) WHERE status = 'indexing_failed';
      CREATE INDEX file_of_integration ON file (bot_id, namespace) WHERE owner_type = 'integration';
      CREATE INDEX file_of_user ON file (bot_id, owner_id) WHERE owner_type = 'user';
      CREATE INDEX file_for_integrations ON file (bot_id) WHERE access_policies @> '{integrations}';
      CREATE INDEX file_for_users ON file (bot_id) WHERE access_policies @> '{public_content}';

      CREATE TABLE file_tag (
        file_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        value text COLLATE "C" NOT NULL,
        bot_id text COLLATE "C" NOT NULL,
        PRIMARY KEY (file_id, name)
      );
      -- An index entry holds 2,700 bytes, so long values are distinguished by their hash.
      CREATE INDEX file_tag_value ON file_tag (bot_id, name, left(value, 300), md5(value), file_id);

      CREATE TABLE upload (
        content_version text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        file_id text COLLATE "C" NOT NULL,
        touched_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX upload_file ON upload (file_id);

      CREATE TABLE indexing_job (
        file_id text COLLATE "C" NOT NULL,
        content_version text COLLATE "C" NOT NULL,
        bot_id text COLLATE "C" NOT NULL,
        stage text NOT NULL DEFAULT 'announced' CONSTRAINT indexing_job_stage_check
          CHECK (stage IN ('announced', 'taken', 'parsed', 'embedding', 'written', 'switching')),
        attempts integer NOT NULL DEFAULT 0,
        taken_by text,
        lease text COLLATE "C",
        heartbeat_at timestamptz,
        announced_at timestamptz NOT NULL DEFAULT now(),
        announcements integer NOT NULL DEFAULT 1,
        passages integer,
        passages_written integer NOT NULL DEFAULT 0,
        last_error text,
        source text NOT NULL DEFAULT 'content'
          CONSTRAINT indexing_job_source_check CHECK (source IN ('content', 'passages')),
        part real NOT NULL DEFAULT 0,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        due_at timestamptz NOT NULL DEFAULT now(),
        traceparent text,
        PRIMARY KEY (file_id, content_version)
      );
      CREATE INDEX indexing_job_bot ON indexing_job (bot_id);
      CREATE INDEX indexing_job_created ON indexing_job (created_at, file_id, content_version);
      CREATE INDEX indexing_job_waiting ON indexing_job (bot_id, created_at) WHERE lease IS NULL;

      CREATE TABLE indexing_turn (
        bot_id text COLLATE "C" PRIMARY KEY,
        taken_at timestamptz NOT NULL
      );

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
        type text NOT NULL DEFAULT 'chunk',
        PRIMARY KEY (file_id, content_version, position)
      );
      CREATE INDEX passage_bot ON passage (bot_id);
      CREATE INDEX passage_id ON passage (id);

      CREATE TABLE index_model (
        model text PRIMARY KEY,
        dimensions integer,
        is_active boolean NOT NULL DEFAULT false,
        place text COLLATE "C" NOT NULL DEFAULT ''
      );
      CREATE UNIQUE INDEX index_model_active ON index_model (is_active) WHERE is_active;

      CREATE TABLE indexed_content (
        file_id text COLLATE "C" NOT NULL REFERENCES file ON DELETE CASCADE,
        model text NOT NULL,
        content_version text COLLATE "C" NOT NULL,
        next_position integer,
        PRIMARY KEY (file_id, model)
      );

      CREATE TABLE untidy_file (
        file_id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        due_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX untidy_file_due ON untidy_file (due_at);

      CREATE TABLE deleted_bot (
        bot_id text COLLATE "C" PRIMARY KEY,
        deleted_at timestamptz NOT NULL DEFAULT now(),
        erased_at timestamptz
      );

      CREATE TABLE knowledge_base (
        id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        name text NOT NULL,
        tags jsonb NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now()
      );
      CREATE INDEX knowledge_base_created ON knowledge_base (bot_id, created_at, id);

      CREATE TABLE storage_use (
        bot_id text COLLATE "C" NOT NULL,
        slot smallint NOT NULL,
        file_bytes bigint NOT NULL,
        vector_bytes bigint NOT NULL,
        is_changed boolean NOT NULL DEFAULT true,
        PRIMARY KEY (bot_id, slot)
      );
      CREATE INDEX storage_use_changed ON storage_use (bot_id) WHERE is_changed;

      CREATE TABLE bot_home (
        bot_id text COLLATE "C" PRIMARY KEY,
        workspace_id text COLLATE "C" NOT NULL,
        moved_by text COLLATE "C"
      );
      CREATE INDEX bot_home_workspace ON bot_home (workspace_id);

      -- Quota usage of a file: the declared size until an upload, and 0 once the upload URL has expired.
      CREATE FUNCTION bytes_of(file) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
        SELECT CASE WHEN $1.status = 'upload_failed' THEN 0 ELSE coalesce($1.size, $1.declared_size) END
      $$;
      CREATE FUNCTION vector_bytes_of(file) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
        SELECT CASE WHEN $1.index AND $1.status <> 'upload_failed' THEN coalesce($1.size, $1.declared_size) ELSE 0 END
      $$;

      -- Every statement that changes files updates the sums.
      CREATE FUNCTION file_sums_follow() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
      DECLARE
        -- By connection, so that files which are declared at once do not wait for each other.
        own_slot constant smallint := pg_backend_pid() % 4;
      BEGIN
        IF TG_OP = 'INSERT' THEN
          INSERT INTO storage_use AS use (bot_id, slot, file_bytes, vector_bytes)
            SELECT bot_id, own_slot, sum(bytes_of(a)), sum(vector_bytes_of(a)) FROM after_rows a GROUP BY bot_id ORDER BY bot_id
            ON CONFLICT (bot_id, slot) DO UPDATE SET is_changed = true,
              file_bytes = use.file_bytes + excluded.file_bytes, vector_bytes = use.vector_bytes + excluded.vector_bytes;
        ELSIF TG_OP = 'DELETE' THEN
          INSERT INTO storage_use AS use (bot_id, slot, file_bytes, vector_bytes)
            SELECT bot_id, own_slot, -sum(bytes_of(b)), -sum(vector_bytes_of(b)) FROM before_rows b GROUP BY bot_id ORDER BY bot_id
            ON CONFLICT (bot_id, slot) DO UPDATE SET is_changed = true,
              file_bytes = use.file_bytes + excluded.file_bytes, vector_bytes = use.vector_bytes + excluded.vector_bytes;
        ELSE
          -- The difference of two sums: the two tables have no index to be joined by.
          INSERT INTO storage_use AS use (bot_id, slot, file_bytes, vector_bytes)
            SELECT bot_id, own_slot, sum(file_bytes), sum(vector_bytes) FROM (
              SELECT bot_id, bytes_of(a) AS file_bytes, vector_bytes_of(a) AS vector_bytes FROM after_rows a
              UNION ALL
              SELECT bot_id, -bytes_of(b), -vector_bytes_of(b) FROM before_rows b) change
            GROUP BY bot_id HAVING sum(file_bytes) <> 0 OR sum(vector_bytes) <> 0 ORDER BY bot_id
            ON CONFLICT (bot_id, slot) DO UPDATE SET is_changed = true,
              file_bytes = use.file_bytes + excluded.file_bytes, vector_bytes = use.vector_bytes + excluded.vector_bytes;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER file_sums_inserted AFTER INSERT ON file REFERENCING NEW TABLE AS after_rows
        FOR EACH STATEMENT EXECUTE FUNCTION file_sums_follow();
      CREATE TRIGGER file_sums_updated AFTER UPDATE ON file REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows
        FOR EACH STATEMENT EXECUTE FUNCTION file_sums_follow();
      CREATE TRIGGER file_sums_deleted AFTER DELETE ON file REFERENCING OLD TABLE AS before_rows
        FOR EACH STATEMENT EXECUTE FUNCTION file_sums_follow();

      CREATE FUNCTION file_tags_follow() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
      BEGIN
        IF TG_OP <> 'INSERT' THEN
          DELETE FROM file_tag WHERE file_id = OLD.id;
        END IF;
        IF TG_OP <> 'DELETE' THEN
          INSERT INTO file_tag (file_id, name, value, bot_id)
            SELECT NEW.id, tag.key, tag.value, NEW.bot_id FROM jsonb_each_text(NEW.tags) AS tag WHERE length(tag.key) <= 200;
        END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER file_tags_inserted AFTER INSERT ON file
        FOR EACH ROW WHEN (NEW.tags <> '{}') EXECUTE FUNCTION file_tags_follow();
      CREATE TRIGGER file_tags_updated AFTER UPDATE OF tags ON file
        FOR EACH ROW WHEN (OLD.tags <> NEW.tags) EXECUTE FUNCTION file_tags_follow();
      CREATE TRIGGER file_tags_deleted AFTER DELETE ON file
        FOR EACH ROW WHEN (OLD.tags <> '{}') EXECUTE FUNCTION file_tags_follow();

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
    `);
  }
}
