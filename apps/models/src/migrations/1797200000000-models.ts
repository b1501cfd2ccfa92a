import { eventTables1795392000000 } from '@parley/events/migrations/1795392000000-event-tables';
import { idempotencyTables1795392000000 } from '@parley/persistence/migrations/1795392000000-idempotency-tables';
import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Models1797200000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(eventTables1795392000000);
    await runner.query(idempotencyTables1795392000000);
    await runner.query(`
      CREATE TABLE budget (
        scope text NOT NULL,
        scope_id text COLLATE "C" NOT NULL,
        max_cost bigint,
        max_tokens bigint,
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (scope, scope_id),
        CONSTRAINT budget_scope_check CHECK (scope IN ('bot', 'workspace'))
      );

      CREATE TABLE spend (
        scope text NOT NULL,
        scope_id text COLLATE "C" NOT NULL,
        month text COLLATE "C" NOT NULL,
        settled_cost bigint NOT NULL DEFAULT 0,
        settled_tokens bigint NOT NULL DEFAULT 0,
        reserved_cost bigint NOT NULL DEFAULT 0,
        reserved_tokens bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (scope, scope_id, month),
        CONSTRAINT spend_scope_check CHECK (scope IN ('bot', 'workspace'))
      ) WITH (fillfactor = 50);

      CREATE TABLE reservation (
        id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        month text COLLATE "C" NOT NULL,
        cost bigint NOT NULL,
        tokens bigint NOT NULL,
        streamed_cost bigint,
        streamed_tokens bigint,
        call jsonb NOT NULL,
        renewed_at timestamptz(3) NOT NULL DEFAULT now()
      );
      CREATE INDEX reservation_renewed ON reservation (renewed_at);

      CREATE TABLE model_call (
        id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        workspace_id text COLLATE "C" NOT NULL,
        kind text NOT NULL,
        provider text,
        model text,
        wanted_model text NOT NULL,
        conversation_id text COLLATE "C",
        event_id text COLLATE "C",
        trace_id text COLLATE "C",
        input_tokens bigint NOT NULL,
        output_tokens bigint NOT NULL,
        cost bigint NOT NULL,
        is_estimated boolean NOT NULL,
        is_cached boolean NOT NULL,
        fallbacks integer NOT NULL,
        latency_ms integer NOT NULL,
        first_token_ms integer,
        finish text NOT NULL,
        error text,
        created_at timestamptz(3) NOT NULL DEFAULT now()
      );
      CREATE INDEX model_call_of_bot ON model_call (bot_id, id);
      CREATE INDEX model_call_of_event ON model_call (bot_id, event_id, id) WHERE event_id IS NOT NULL;
      CREATE INDEX model_call_created ON model_call (created_at);

      CREATE TABLE stored_answer (
        bot_id text COLLATE "C" NOT NULL,
        key text COLLATE "C" NOT NULL,
        -- Null while the request that it belongs to is under way.
        answer jsonb,
        expires_at timestamptz(3) NOT NULL,
        PRIMARY KEY (bot_id, key)
      );
      CREATE INDEX stored_answer_expires ON stored_answer (expires_at);

      CREATE TABLE deleted_bot (
        bot_id text COLLATE "C" PRIMARY KEY,
        deleted_at timestamptz NOT NULL DEFAULT now()
      );
    `);
  }
}
