/** Table of background work, in the schema of each service that has some. Part of a migration: never edited. */
export const workTable1796000000000 = `
  CREATE TABLE work (
    queue text NOT NULL,
    key text COLLATE "C" NOT NULL,
    id bigserial NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    ordering_key text COLLATE "C",
    payload jsonb NOT NULL,
    state text NOT NULL,
    position bigint,
    ready_at timestamptz,
    due_at timestamptz,
    waits_for text COLLATE "C",
    lease text COLLATE "C",
    worker text,
    again boolean NOT NULL DEFAULT false,
    attempts integer NOT NULL DEFAULT 0,
    last_error text,
    traceparent text,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (queue, key),
    CONSTRAINT work_state_check CHECK (state IN ('ready', 'waiting', 'queued', 'parked', 'running', 'failed')),
    CONSTRAINT work_position_check CHECK ((state = 'ready') = (position IS NOT NULL)),
    CONSTRAINT work_lease_check CHECK ((state = 'running') = (lease IS NOT NULL))
  );
  CREATE INDEX work_ready ON work (queue, position, id) WHERE state = 'ready';
  CREATE INDEX work_ready_of_tenant ON work (queue, tenant, position) WHERE state = 'ready';
  CREATE INDEX work_due ON work (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX work_ordered ON work (queue, ordering_key, id) WHERE ordering_key IS NOT NULL AND state <> 'failed';
  CREATE UNIQUE INDEX work_running_of_key ON work (queue, ordering_key)
    WHERE ordering_key IS NOT NULL AND state = 'running';
  CREATE INDEX work_parked ON work (queue, waits_for) WHERE state = 'parked';
  -- The queue moves through its pages: dead rows must go before the claims have to skip many of them.
  ALTER TABLE work SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);
`;
