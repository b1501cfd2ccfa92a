/** Table of idempotency keys, in the schema of every service. Part of its first migration: never edited. */
export const idempotencyTables1795392000000 = `
  CREATE TABLE idempotency_key (
    scope text COLLATE "C" NOT NULL,
    operation text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    bot_id text COLLATE "C",
    body_hash bytea NOT NULL,
    answer text,
    is_final boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (scope, operation, key)
  );
  CREATE INDEX idempotency_key_created ON idempotency_key (created_at);
  CREATE INDEX idempotency_key_of_bot ON idempotency_key (bot_id, scope, operation, key) WHERE bot_id IS NOT NULL;
`;
