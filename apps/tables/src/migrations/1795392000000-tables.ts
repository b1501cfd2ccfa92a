import { eventTables1795392000000 } from '@parley/events/migrations/1795392000000-event-tables';
import { localIndexTables1795392000000 } from '@parley/passages/migrations/1795392000000-local-index-tables';
import { idempotencyTables1795392000000 } from '@parley/persistence/migrations/1795392000000-idempotency-tables';
import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

const partitions = 16;

export class Tables1795392000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(eventTables1795392000000);
    await runner.query(idempotencyTables1795392000000);
    await runner.query(localIndexTables1795392000000);
    await runner.query(`
      -- Numbers of tables: the values of "table".number.
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
        next_index integer NOT NULL,
        tags jsonb NOT NULL,
        is_compute_enabled boolean NOT NULL,
        unused_ids bigint NOT NULL DEFAULT 0,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT table_name UNIQUE (bot_id, name)
      );

      -- Every insert updates the state of its table: the free space of the page keeps these updates HOT.
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
        data jsonb NOT NULL,
        computed jsonb,
        stale text[],
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

      CREATE TABLE table_work (
        table_number bigint NOT NULL,
        kind text NOT NULL CHECK (kind IN ('compute', 'index')),
        due_at timestamptz NOT NULL DEFAULT now(),
        lease text COLLATE "C",
        taken_at timestamptz,
        attempts integer NOT NULL DEFAULT 0,
        last_error text,
        PRIMARY KEY (table_number, kind)
      );
      CREATE INDEX table_work_due ON table_work (due_at);

      CREATE TABLE dropped_rows (
        number bigint PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        due_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX dropped_rows_bot ON dropped_rows (bot_id);

      CREATE TABLE deleted_bot (
        bot_id text COLLATE "C" PRIMARY KEY,
        deleted_at timestamptz NOT NULL DEFAULT now()
      );

      CREATE TABLE job (
        id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        table_id text COLLATE "C" NOT NULL REFERENCES "table" ON DELETE CASCADE,
        type text NOT NULL,
        status text NOT NULL DEFAULT 'pending'
          CHECK (status IN ('pending', 'in_progress', 'finalizing', 'completed', 'failed')),
        task jsonb NOT NULL,
        input_file_id text,
        output_file_id text,
        progress integer NOT NULL DEFAULT 0,
        position bigint NOT NULL DEFAULT 0,
        rows bigint NOT NULL DEFAULT 0,
        failed_rows bigint NOT NULL DEFAULT 0,
        errors text[] NOT NULL DEFAULT '{}',
        warnings text[] NOT NULL DEFAULT '{}',
        failed_reason text,
        lease text COLLATE "C",
        worker text,
        heartbeat_at timestamptz,
        due_at timestamptz NOT NULL DEFAULT now(),
        attempts integer NOT NULL DEFAULT 0,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now()
      );
      CREATE INDEX job_table ON job (table_id, id);
      CREATE INDEX job_unfinished ON job (bot_id, id) WHERE status IN ('pending', 'in_progress', 'finalizing');

      CREATE TABLE dropped_point (
        table_number bigint NOT NULL,
        row_id integer NOT NULL,
        PRIMARY KEY (table_number, row_id)
      );
    `);
    for (let part = 0; part < partitions; part++) {
      await runner.query(
        `CREATE TABLE row_${part} PARTITION OF row FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${part})`,
      );
    }
  }
}
