/** Tables for published and received events, in the schema of every service. Part of its first migration: never edited. */
export const eventTables1795392000000 = `
  CREATE TABLE outbox (
    id text COLLATE "C" PRIMARY KEY,
    subject text NOT NULL,
    data jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    published_at timestamptz,
    -- Event that is handed to this consumer alone, once more.
    repeats text COLLATE "C",
    consumer text,
    traceparent text,
    CONSTRAINT outbox_check CHECK ((repeats IS NULL) = (consumer IS NULL))
  );
  CREATE INDEX outbox_unpublished ON outbox (id) WHERE published_at IS NULL;
  CREATE INDEX outbox_published ON outbox (published_at) WHERE published_at IS NOT NULL;

  CREATE TABLE outbox_place (
    singleton boolean PRIMARY KEY,
    sequence bigint NOT NULL,
    message_id text NOT NULL,
    CONSTRAINT outbox_place_singleton_check CHECK (singleton)
  );

  CREATE TABLE inbox (
    consumer text NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer, event_id)
  );
  CREATE INDEX inbox_received ON inbox (received_at);

  CREATE TABLE dead_letter (
    id text COLLATE "C" PRIMARY KEY,
    consumer text NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    subject text NOT NULL,
    data jsonb NOT NULL,
    attempts integer NOT NULL,
    reason text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (consumer, event_id)
  );
`;
