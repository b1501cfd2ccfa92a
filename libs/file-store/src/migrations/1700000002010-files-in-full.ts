import type { MigrationInterface, QueryRunner } from 'typeorm';

export class FilesInFull1700000002010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE file
        -- Keys are unique within a namespace: the alias of an installation, or '' for the bot and its users.
        ADD COLUMN namespace text COLLATE "C" NOT NULL DEFAULT '',
        ADD COLUMN owner_type text NOT NULL DEFAULT 'bot' CHECK (owner_type IN ('bot', 'integration', 'user')),
        -- Id of the integration or user.
        ADD COLUMN owner_id text COLLATE "C",
        -- Version of the bytes. content_version is the version to index: also of passages that were set, and of each retry.
        ADD COLUMN blob_version text COLLATE "C",
        ADD COLUMN are_passages_set boolean NOT NULL DEFAULT false,
        DROP CONSTRAINT file_key;
      -- Hash, since an index entry holds 2,700 bytes, and a key may have 4,000.
      CREATE UNIQUE INDEX file_key ON file (bot_id, md5(key), namespace);
      -- For callers that may read few files of the bot.
      CREATE INDEX file_of_integration ON file (bot_id, namespace) WHERE owner_type = 'integration';
      CREATE INDEX file_of_user ON file (bot_id, owner_id) WHERE owner_type = 'user';
      CREATE INDEX file_for_integrations ON file (bot_id) WHERE access_policies @> '{integrations}';
      CREATE INDEX file_for_users ON file (bot_id) WHERE access_policies @> '{public_content}';
      UPDATE file SET blob_version = content_version;

      ALTER TABLE indexing_job
        -- Whether passages are made from the bytes, or exist already and lack only their vectors.
        ADD COLUMN source text NOT NULL DEFAULT 'content' CHECK (source IN ('content', 'passages')),
        -- Fraction of the document that is done, from 0 to 1.
        ADD COLUMN part real NOT NULL DEFAULT 0;
      ALTER TABLE passage ADD COLUMN type text NOT NULL DEFAULT 'chunk';
      -- The passage index returns only the id of a passage.
      CREATE INDEX passage_id ON passage (id);

      CREATE TABLE knowledge_base (
        id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        name text NOT NULL,
        tags jsonb NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now()
      );
      CREATE INDEX knowledge_base_created ON knowledge_base (bot_id, created_at, id);

      -- Tags of files, for lists of names and values and for filters; without names of more than 200 characters, which
      -- were allowed before. Maintained by the triggers on file below.
      CREATE TABLE file_tag (
        file_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        value text COLLATE "C" NOT NULL,
        bot_id text COLLATE "C" NOT NULL,
        PRIMARY KEY (file_id, name)
      );
      -- An index entry holds 2,700 bytes, so long values are distinguished by their hash.
      CREATE INDEX file_tag_value ON file_tag (bot_id, name, left(value, 300), md5(value), file_id);

      -- Storage usage of each bot, in slots that different connections write. Maintained by the trigger file_sums_follow.
      CREATE TABLE storage_use (
        bot_id text COLLATE "C" NOT NULL,
        slot smallint NOT NULL,
        file_bytes bigint NOT NULL,
        vector_bytes bigint NOT NULL,
        -- Changed since the last report to admin.
        is_changed boolean NOT NULL DEFAULT true,
        PRIMARY KEY (bot_id, slot)
      );
      CREATE INDEX storage_use_changed ON storage_use (bot_id) WHERE is_changed;

      -- Workspace whose quotas count the bot's usage.
      CREATE TABLE bot_home (
        bot_id text COLLATE "C" PRIMARY KEY,
        workspace_id text COLLATE "C" NOT NULL
      );
      CREATE INDEX bot_home_workspace ON bot_home (workspace_id);

      -- Quota usage of a file: the declared size until an upload, and 0 once the upload URL has expired.
      CREATE FUNCTION bytes_of(file) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
        SELECT CASE WHEN $1.status = 'upload_failed' THEN 0 ELSE coalesce($1.size, $1.declared_size) END
      $$;
      CREATE FUNCTION vector_bytes_of(file) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
        SELECT CASE WHEN $1.index AND $1.status <> 'upload_failed' THEN coalesce($1.size, $1.declared_size) ELSE 0 END
      $$;

      INSERT INTO storage_use (bot_id, slot, file_bytes, vector_bytes)
        SELECT bot_id, 0, sum(bytes_of(file)), sum(vector_bytes_of(file)) FROM file GROUP BY bot_id;
      INSERT INTO file_tag (file_id, name, value, bot_id)
        SELECT id, tag.key, tag.value, bot_id FROM file, jsonb_each_text(tags) AS tag WHERE length(tag.key) <= 200;

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
    `);
  }

  /** Deletes files of other namespaces, whose keys the previous schema cannot hold. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM file WHERE namespace <> '';
      DROP TRIGGER file_sums_inserted ON file;
      DROP TRIGGER file_sums_updated ON file;
      DROP TRIGGER file_sums_deleted ON file;
      DROP TRIGGER file_tags_inserted ON file;
      DROP TRIGGER file_tags_updated ON file;
      DROP TRIGGER file_tags_deleted ON file;
      DROP FUNCTION file_sums_follow, file_tags_follow, bytes_of, vector_bytes_of;
      DROP TABLE bot_home, storage_use, file_tag, knowledge_base;
      DROP INDEX passage_id;
      ALTER TABLE passage DROP COLUMN type;
      ALTER TABLE indexing_job DROP COLUMN source, DROP COLUMN part;
      DROP INDEX file_key, file_of_integration, file_of_user, file_for_integrations, file_for_users;
      ALTER TABLE file ADD CONSTRAINT file_key UNIQUE (bot_id, key),
        DROP COLUMN namespace, DROP COLUMN owner_type, DROP COLUMN owner_id, DROP COLUMN blob_version,
        DROP COLUMN are_passages_set;
    `);
  }
}
