import { eventTables1795392000000 } from '@parley/events/migrations/1795392000000-event-tables';
import { idempotencyTables1795392000000 } from '@parley/persistence/migrations/1795392000000-idempotency-tables';
import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

const partitions = 16;
/** Tables with hash partitions by bot. */
const partitioned = ['message', 'event', 'state', 'tag'];

const tables = `
  CREATE TABLE "user" (
    bot_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    integration_alias text COLLATE "C",
    name text,
    picture_url text,
    tags jsonb NOT NULL,
    properties jsonb NOT NULL,
    foreign_id text COLLATE "C",
    profile text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    PRIMARY KEY (bot_id, id)
  );
  CREATE INDEX user_created ON "user" (bot_id, created_at, id);
  CREATE INDEX user_updated ON "user" (bot_id, updated_at, id);
  CREATE INDEX user_integration ON "user" (bot_id, integration_alias, created_at, id);
  CREATE INDEX user_integration_updated ON "user" (bot_id, integration_alias, updated_at, id);
  CREATE UNIQUE INDEX user_foreign_id ON "user" (bot_id, foreign_id) WHERE foreign_id IS NOT NULL;

  CREATE TABLE conversation (
    bot_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    integration_alias text COLLATE "C" NOT NULL,
    integration_id text COLLATE "C" NOT NULL,
    channel text COLLATE "C" NOT NULL,
    is_chat boolean NOT NULL,
    tags jsonb NOT NULL,
    properties jsonb NOT NULL,
    foreign_id text COLLATE "C",
    owner_id text COLLATE "C",
    current_task_id text COLLATE "C",
    current_workflow_id text COLLATE "C",
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    PRIMARY KEY (bot_id, id)
  );
  CREATE INDEX conversation_created ON conversation (bot_id, created_at, id);
  CREATE INDEX conversation_updated ON conversation (bot_id, updated_at, id);
  CREATE INDEX conversation_channel ON conversation (bot_id, channel, created_at, id);
  CREATE INDEX conversation_integration ON conversation (bot_id, integration_alias, created_at, id);
  CREATE INDEX conversation_integration_updated ON conversation (bot_id, integration_alias, updated_at, id);
  CREATE INDEX conversation_owner ON conversation (bot_id, owner_id, created_at, id) WHERE owner_id IS NOT NULL;
  CREATE UNIQUE INDEX conversation_foreign_id ON conversation (bot_id, foreign_id) WHERE foreign_id IS NOT NULL;

  CREATE TABLE participant (
    bot_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    joined_at timestamptz(3) NOT NULL DEFAULT now(),
    PRIMARY KEY (bot_id, conversation_id, user_id)
  );
  CREATE INDEX participant_joined ON participant (bot_id, conversation_id, joined_at, user_id);
  CREATE INDEX participant_user ON participant (bot_id, user_id, conversation_id);

  -- Every writer updates its row first. The fill factor leaves room on the page, and there is no further index, so that
  -- updates are in place (HOT).
  CREATE TABLE conversation_clock (
    bot_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    last_message_at timestamptz(3) NOT NULL DEFAULT '-infinity',
    message_count integer NOT NULL DEFAULT 0,
    signal_count bigint NOT NULL DEFAULT 0,
    removals integer NOT NULL DEFAULT 0,
    PRIMARY KEY (bot_id, conversation_id)
  ) WITH (fillfactor = 40);

  CREATE TABLE message (
    bot_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    type text NOT NULL,
    payload jsonb NOT NULL,
    tags jsonb NOT NULL,
    direction text NOT NULL CHECK (direction IN ('incoming', 'outgoing')),
    origin text CHECK (origin = 'synthetic'),
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    PRIMARY KEY (bot_id, id)
  ) PARTITION BY HASH (bot_id);
  CREATE INDEX message_of_conversation ON message (bot_id, conversation_id, created_at, id);
  CREATE INDEX message_created ON message (bot_id, created_at, id);

  CREATE TABLE scheduled_message (
    bot_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    type text NOT NULL,
    payload jsonb NOT NULL,
    tags jsonb NOT NULL,
    direction text NOT NULL CHECK (direction IN ('incoming', 'outgoing')),
    origin text CHECK (origin = 'synthetic'),
    due_at timestamptz(3) NOT NULL,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    PRIMARY KEY (bot_id, id)
  );
  CREATE INDEX scheduled_message_due ON scheduled_message (due_at);
  CREATE INDEX scheduled_message_of_conversation ON scheduled_message (bot_id, conversation_id);

  CREATE TABLE event (
    bot_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    payload jsonb,
    integration_alias text COLLATE "C",
    conversation_id text COLLATE "C",
    user_id text COLLATE "C",
    message_id text COLLATE "C",
    workflow_id text COLLATE "C",
    status text NOT NULL CHECK (status IN ('pending', 'processed', 'ignored', 'failed', 'scheduled', 'canceled')),
    failure_reason text,
    due_at timestamptz(3),
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (bot_id, id)
  ) PARTITION BY HASH (bot_id);
  CREATE INDEX event_status ON event (bot_id, status, id);
  CREATE INDEX event_type ON event (bot_id, type, id);
  CREATE INDEX event_integration ON event (bot_id, integration_alias, id) WHERE integration_alias IS NOT NULL;
  CREATE INDEX event_conversation ON event (bot_id, conversation_id, id) WHERE conversation_id IS NOT NULL;
  CREATE INDEX event_user ON event (bot_id, user_id, id) WHERE user_id IS NOT NULL;
  CREATE INDEX event_message ON event (bot_id, message_id, id) WHERE message_id IS NOT NULL;
  CREATE INDEX event_workflow ON event (bot_id, workflow_id, id) WHERE workflow_id IS NOT NULL;
  CREATE INDEX event_due ON event (due_at) WHERE status = 'scheduled' AND payload IS NOT NULL;

  CREATE TABLE state (
    bot_id text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL CHECK (type IN ('conversation', 'user', 'bot', 'integration', 'workflow')),
    owner_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    payload jsonb NOT NULL,
    expiry_ms bigint,
    expires_at timestamptz(3),
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    PRIMARY KEY (bot_id, type, owner_id, name)
  ) PARTITION BY HASH (bot_id);
  CREATE INDEX state_expires ON state (expires_at) WHERE expires_at IS NOT NULL;

  -- Index key of bounded length: the text itself, or a prefix and a hash if it is long.
  CREATE FUNCTION tag_key(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN CASE
    WHEN octet_length(value) <= 500 THEN value
    ELSE left(value, 100) || encode(sha256(convert_to(value, 'UTF8')), 'hex')
  END;

  CREATE TABLE tag (
    bot_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('user', 'conversation', 'message', 'workflow')),
    name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    created_at timestamptz(3) NOT NULL,
    object_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C"
  ) PARTITION BY HASH (bot_id);
  CREATE INDEX tag_place ON tag (bot_id, kind, tag_key(name), tag_key(value), created_at, object_id);
  CREATE INDEX tag_of_conversation ON tag
    (bot_id, conversation_id, tag_key(name), tag_key(value), created_at, object_id) WHERE conversation_id IS NOT NULL;

  CREATE TABLE workflow (
    bot_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL CHECK (status IN
      ('pending', 'in_progress', 'listening', 'paused', 'completed', 'failed', 'timedout', 'cancelled')),
    input jsonb NOT NULL,
    output jsonb NOT NULL,
    integration_alias text COLLATE "C",
    parent_workflow_id text COLLATE "C",
    conversation_id text COLLATE "C",
    user_id text COLLATE "C",
    event_id text COLLATE "C",
    failure_reason text,
    tags jsonb NOT NULL,
    timeout_at timestamptz(3) NOT NULL,
    completed_at timestamptz(3),
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    PRIMARY KEY (bot_id, id)
  );
  CREATE INDEX workflow_created ON workflow (bot_id, created_at, id);
  CREATE INDEX workflow_name ON workflow (bot_id, name, created_at, id);
  CREATE INDEX workflow_status ON workflow (bot_id, status, created_at, id);
  CREATE INDEX workflow_integration ON workflow (bot_id, integration_alias, created_at, id)
    WHERE integration_alias IS NOT NULL;
  CREATE INDEX workflow_conversation ON workflow (bot_id, conversation_id, created_at, id)
    WHERE conversation_id IS NOT NULL;
  CREATE INDEX workflow_user ON workflow (bot_id, user_id, created_at, id) WHERE user_id IS NOT NULL;
  CREATE INDEX workflow_parent ON workflow (bot_id, parent_workflow_id, created_at, id)
    WHERE parent_workflow_id IS NOT NULL;
  CREATE INDEX workflow_timeout ON workflow (timeout_at)
    WHERE status IN ('pending', 'in_progress', 'listening', 'paused');
  CREATE INDEX workflow_active ON workflow (bot_id, name, created_at, id)
    WHERE status IN ('pending', 'in_progress', 'listening', 'paused');
  CREATE INDEX workflow_active_of_conversation ON workflow (bot_id, conversation_id, created_at, id)
    WHERE status IN ('pending', 'in_progress', 'listening', 'paused') AND conversation_id IS NOT NULL;

  CREATE TABLE recurring_event (
    bot_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    payload jsonb NOT NULL,
    cron text NOT NULL,
    next_at timestamptz(3),
    period_seconds integer NOT NULL DEFAULT 0,
    PRIMARY KEY (bot_id, name)
  );
  CREATE INDEX recurring_event_due ON recurring_event (next_at) WHERE next_at IS NOT NULL;
  CREATE INDEX recurring_event_computed ON recurring_event
    ((next_at AT TIME ZONE 'UTC' - period_seconds * interval '1 second')) WHERE next_at IS NOT NULL;

  CREATE TABLE recurring_revision (
    bot_id text COLLATE "C" PRIMARY KEY,
    revision bigint NOT NULL
  );

  CREATE TABLE signal (
    bot_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    type text NOT NULL,
    message_id text COLLATE "C",
    data jsonb,
    closes text COLLATE "C",
    created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
  ) PARTITION BY RANGE (created_at);
  CREATE INDEX signal_place ON signal (bot_id, conversation_id, number);
  CREATE TABLE signal_default PARTITION OF signal DEFAULT;

  CREATE TABLE dropped_conversation (
    bot_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    dropped_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (bot_id, conversation_id)
  );
  CREATE INDEX dropped_conversation_due ON dropped_conversation (due_at);

  CREATE TABLE dropped_bot (
    bot_id text COLLATE "C" PRIMARY KEY,
    dropped_at timestamptz NOT NULL DEFAULT now(),
    due_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX dropped_bot_due ON dropped_bot (due_at);
`;

export class Chat1795392000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(eventTables1795392000000);
    await runner.query(idempotencyTables1795392000000);
    await runner.query(tables);
    for (const table of partitioned) {
      for (let part = 0; part < partitions; part++) {
        await runner.query(
          `CREATE TABLE ${table}_${part} PARTITION OF ${table}
             FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${part})`,
        );
      }
    }
  }
}
