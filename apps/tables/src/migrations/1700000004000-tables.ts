import type { MigrationInterface, QueryRunner } from 'typeorm';

const partitions = 16;

export class Tables1700000004000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Names the rows of a table, shorter than its id. A table that is emptied gets a new one.
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
        -- The index that the next new column gets.
        next_index integer NOT NULL,
        tags jsonb NOT NULL,
        is_compute_enabled boolean NOT NULL,
        -- Ids below the next one that no row has: what is left of all ids are the rows.
        unused_ids bigint NOT NULL DEFAULT 0,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT table_name UNIQUE (bot_id, name)
      );

      -- What changes with every insert, and the lock that keeps rows and schema together.
      CREATE TABLE table_state (
        number bigint PRIMARY KEY,
        version integer NOT NULL DEFAULT 1,
        next_row_id bigint NOT NULL DEFAULT 1
      ) WITH (fillfactor = 50);

      -- The value of a key column as text of bounded length; null, which is not compared, for none.
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
        -- Keys of the computed columns whose value is of a former state of the row.
        stale text[],
        -- Its searchable text is not in the passage index yet.
        unindexed boolean NOT NULL DEFAULT false,
        revision integer NOT NULL DEFAULT 1,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (table_number, id)
      ) PARTITION BY HASH (table_number);
      CREATE UNIQUE INDEX row_key ON row (table_number, key) WHERE key IS NOT NULL;
      -- Equality on any column. A short pending list bounds what a search reads beside the index.
      CREATE INDEX row_data ON row USING gin (data jsonb_path_ops) WITH (gin_pending_list_limit = 512);
      CREATE INDEX row_stale ON row (table_number, id) WHERE stale IS NOT NULL;
      CREATE INDEX row_unindexed ON row (table_number, id) WHERE unindexed;

      -- Tables with rows that wait to be computed or indexed: they take turns.
      CREATE TABLE table_work (
        table_number bigint NOT NULL,
        kind text NOT NULL CHECK (kind IN ('compute', 'index')),
        due_at timestamptz NOT NULL DEFAULT now(),
        -- The one taking that may write, and when it was last seen alive.
        lease text COLLATE "C",
        taken_at timestamptz,
        attempts integer NOT NULL DEFAULT 0,
        last_error text,
        PRIMARY KEY (table_number, kind)
      );
      CREATE INDEX table_work_due ON table_work (due_at);

      -- Numbers whose rows nobody can reach any more, until they are deleted.
      CREATE TABLE dropped_rows (
        number bigint PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        due_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX dropped_rows_bot ON dropped_rows (bot_id);

      -- Bots that are gone: nothing of theirs is taken in any more.
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
