import type { MigrationInterface, QueryRunner } from 'typeorm';

const partitions = 16;

export class Tables1700000004000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Table number: identifies the rows of a table, shorter than its id. A table that is emptied gets a new one.
      CREATE SEQUENCE table_number;

      CREATE TABLE "table" (
        id text COLLATE "C" PRIMARY KEY,
        number bigint NOT NULL UNIQUE,
        bot_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        factor integer NOT NULL,
        frozen boolean NOT NULL,
        key_column text,
        schema jsonb NOT NULL,
        -- Index for the next new column.
        next_index integer NOT NULL,
        tags jsonb NOT NULL,
        is_compute_enabled boolean NOT NULL,
        -- Ids below next_row_id without a row, so that rows are counted without a scan.
        unused_ids bigint NOT NULL DEFAULT 0,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT table_name UNIQUE (bot_id, name)
      );

      -- State that changes with every insert, and the lock that keeps rows and schema consistent.
      CREATE TABLE table_state (
        number bigint PRIMARY KEY,
        version integer NOT NULL DEFAULT 1,
        next_row_id bigint NOT NULL DEFAULT 1
      ) WITH (fillfactor = 50);

      -- Value of a key column as text of bounded length; null, which is never a duplicate, without a value.
      CREATE FUNCTION row_key(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
      RETURN CASE
        WHEN value IS NULL OR jsonb_typeof(value) = 'null' THEN NULL
        WHEN octet_length(value::text) <= 200 THEN value::text
        ELSE encode(sha256(convert_to(value::text, 'UTF8')), 'hex')
      END;

      CREATE TABLE row (
        table_number bigint NOT NULL,
        id integer NOT NULL,
        key text COLLATE "C",
        -- By column key; absent is null.
        data jsonb NOT NULL,
        -- State of each computed column, by column key.
        computed jsonb,
        -- Keys of the computed columns with an outdated value.
        stale text[],
        -- Its searchable text is not in the passage index yet.
        unindexed boolean NOT NULL DEFAULT false,
        revision integer NOT NULL DEFAULT 1,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (table_number, id)
      ) PARTITION BY HASH (table_number);
      CREATE UNIQUE INDEX row_key ON row (table_number, key) WHERE key IS NOT NULL;
      -- Equality on any column. A short pending list bounds the entries that a search scans sequentially.
      CREATE INDEX row_data ON row USING gin (data jsonb_path_ops) WITH (gin_pending_list_limit = 512);
      CREATE INDEX row_stale ON row (table_number, id) WHERE stale IS NOT NULL;
      CREATE INDEX row_unindexed ON row (table_number, id) WHERE unindexed;

      -- Queue of tables with rows to compute or to index.
      CREATE TABLE table_work (
        table_number bigint NOT NULL,
        kind text NOT NULL CHECK (kind IN ('compute', 'index')),
        due_at timestamptz NOT NULL DEFAULT now(),
        -- Current lease, the only one that may write, and its last heartbeat.
        lease text COLLATE "C",
        taken_at timestamptz,
        attempts integer NOT NULL DEFAULT 0,
        last_error text,
        PRIMARY KEY (table_number, kind)
      );
      CREATE INDEX table_work_due ON table_work (due_at);

      -- Table numbers whose rows are inaccessible and wait for deletion.
      CREATE TABLE dropped_rows (
        number bigint PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        due_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX dropped_rows_bot ON dropped_rows (bot_id);

      -- Tombstones of deleted bots: new tables are refused.
      CREATE TABLE deleted_bot (
        bot_id text COLLATE "C" PRIMARY KEY,
        deleted_at timestamptz NOT NULL DEFAULT now()
      );
    `);
    for (let part = 0; part < partitions; part++) {
      await runner.query(
        `CREATE TABLE row_${part} PARTITION OF row FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${part})`,
      );
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE deleted_bot, dropped_rows, table_work, row, table_state, "table";
      DROP FUNCTION row_key;
      DROP SEQUENCE table_number;
    `);
  }
}
