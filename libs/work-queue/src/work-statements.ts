import { lockNext } from '@parley/persistence/lock-next';

const claimedColumns = `work.queue, work.key, work.tenant, work.ordering_key AS "orderingKey", work.payload,
      work.attempts AS attempt, work.failures, work.last_error AS "lastError", work.traceparent, work.created_at AS "createdAt"`;

/** Smallest position of the queue: a tenant without ready work starts here, beside the others and not behind them. */
export const firstPosition = (queue: string) =>
  `coalesce((SELECT position FROM work WHERE queue = ${queue} AND state = 'ready' ORDER BY position LIMIT 1),
     (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)`;

/** Position behind the ready work of the same tenant. Indexes work_ready and work_ready_of_tenant, one entry of each. */
export const nextPosition = (queue: string, tenant: string) =>
  `greatest(${firstPosition(queue)}, (SELECT position + 1 FROM work
     WHERE queue = ${queue} AND tenant = ${tenant} AND state = 'ready' ORDER BY position DESC LIMIT 1))`;

export const released = 'lease = NULL, due_at = NULL, again = false';
export const ready = `state = 'ready', ready_at = now()`;

/**
 * Statement that makes selected work ready.
 * @param selection query for `queue` and `key`, which locks the rows
 */
export function makeReady(selection: string, ...changes: string[]): string {
  return `UPDATE work SET ${[ready, 'position = chosen.position', 'waits_for = NULL', released, ...changes].join(', ')}
    FROM (SELECT queue, key, ${nextPosition('work.queue', 'work.tenant')}
        + row_number() OVER (PARTITION BY queue, tenant ORDER BY work.id) - 1 AS position
      FROM (${selection}) AS selected JOIN work USING (queue, key)) AS chosen
    WHERE work.queue = chosen.queue AND work.key = chosen.key
    RETURNING work.queue`;
}

/**
 * Keys that wait keep their place; an earlier due time moves them forward.
 * @param isRepeated SQL: whether work runs again that is added while it runs
 */
const onConflict = (isRepeated: string) => `ON CONFLICT (queue, key) DO UPDATE SET
      again = work.again OR work.state = 'running',
      (state, position, due_at) = (SELECT CASE WHEN work.state = 'running' THEN work.state
            WHEN excluded.state = 'ready' THEN 'ready' ELSE 'waiting' END,
          CASE WHEN work.state <> 'running' THEN excluded.position END,
          CASE WHEN work.state = 'running' THEN work.due_at WHEN excluded.state <> 'ready' THEN coalesce(excluded.due_at, now()) END),
      (attempts, failures, last_error) = (SELECT CASE work.state WHEN 'failed' THEN 0 ELSE work.attempts END,
          CASE work.state WHEN 'failed' THEN 0 ELSE work.failures END,
          CASE WHEN work.state <> 'failed' THEN work.last_error END)
    WHERE (work.state IN ('running', 'failed') AND ${isRepeated})
      OR (work.state = 'waiting' AND work.attempts = 0 AND work.due_at > coalesce(excluded.due_at, now()))`;

/** One row of an unordered queue, which is the frequent case, in a statement that is quick to plan. */
export const insertOne = `INSERT INTO work (queue, key, tenant, payload, traceparent, state, ready_at, position, due_at)
  VALUES ($1, $2, $3, $4::jsonb, $6, CASE WHEN $5::timestamptz > now() THEN 'waiting' ELSE 'ready' END, now(),
    CASE WHEN $5::timestamptz > now() THEN NULL ELSE ${nextPosition('$1', '$3')} END,
    CASE WHEN $5::timestamptz > now() THEN $5::timestamptz END)
  ${onConflict('$7::boolean')}`;

/**
 * SQL that adds work as a part of another statement, which saves a round trip: due at once, in unordered queues that run
 * repeated work again. Call `WorkQueue.wake` after the commit.
 * @param rows query for `queue`, `key`, `tenant` and `payload`
 */
export function addReadyWork(rows: string): string {
  return `INSERT INTO work (queue, key, tenant, payload, state, ready_at, position)
    SELECT queue, key, tenant, payload, 'ready', now(), ${nextPosition('new.queue', 'new.tenant')}
      + row_number() OVER (PARTITION BY queue, tenant ORDER BY key) - 1
    FROM (${rows}) AS new
    ORDER BY queue, key
    ${onConflict('true')}`;
}

/**
 * Prepared statement: rows come as JSON, since Postgres would plan arrays anew each time, for their length.
 * @param ordered columns and conditions of work with an ordering key
 */
function insertStatement(ordered: { column: string; own: string; isNew: string; isBehind: string; held: string }) {
  return `WITH ${ordered.own}new AS MATERIALIZED (
      SELECT * FROM ROWS FROM (jsonb_to_recordset($3::jsonb) AS (
          key text, tenant text, payload jsonb, due_at timestamptz, traceparent text, ordering_key text))
        WITH ORDINALITY AS new (key, tenant, payload, due_at, traceparent, ordering_key, index)${ordered.isNew}),
    tenant AS MATERIALIZED (
      SELECT tenant, ${nextPosition('$1', 'tenants.tenant')} AS position FROM (SELECT DISTINCT tenant FROM new) AS tenants)${ordered.held}
    INSERT INTO work (queue, key, tenant, payload, traceparent, state, ready_at, position, due_at${ordered.column})
    SELECT $1, key, tenant, coalesce(payload, 'null'), traceparent, state, now(),
      CASE state WHEN 'ready' THEN position + row_number() OVER (PARTITION BY tenant ORDER BY index) - 1 END,
      CASE state WHEN 'waiting' THEN due_at END${ordered.column}
    FROM (SELECT new.*, tenant.position,
        CASE WHEN ${ordered.isBehind} THEN 'queued' WHEN due_at > now() THEN 'waiting' ELSE 'ready' END AS state
      FROM new JOIN tenant USING (tenant)) AS placed
    ORDER BY index
    ${onConflict('$2::boolean')}`;
}

export const insertUnordered = insertStatement({
  column: '',
  own: '',
  isNew: '',
  isBehind: 'false',
  held: '',
});

export const insertOrdered = insertStatement({
  column: ', ordering_key',
  // Locked as for their change. With the weaker lock of `held`, two transactions that add the same key would wait for each other.
  own: `own AS MATERIALIZED (
      SELECT work.key, work.state FROM (
          SELECT DISTINCT key FROM jsonb_to_recordset($3::jsonb) AS new (key text) ORDER BY 1) AS keys,
        LATERAL (SELECT key, state FROM work WHERE queue = $1 AND work.key = keys.key FOR NO KEY UPDATE) AS work),
    `,
  // Nothing may wait for failed work, which is not added again.
  isNew: ` WHERE key NOT IN (SELECT key FROM own WHERE state = 'failed')`,
  isBehind: `ordering_key IS NOT NULL AND (ordering_key IN (SELECT ordering_key FROM held)
          OR row_number() OVER (PARTITION BY ordering_key ORDER BY index) > 1)`,
  held: `,
    held AS MATERIALIZED (
      SELECT ordering_key FROM (SELECT DISTINCT ordering_key FROM new WHERE ordering_key IS NOT NULL ORDER BY 1) AS keys,
        LATERAL (SELECT FROM work WHERE queue = $1 AND work.ordering_key = keys.ordering_key AND state <> 'failed'
          ORDER BY id DESC LIMIT 1 FOR SHARE) AS last)`,
});

/**
 * Common table expression that adds work of unordered queues as a part of another statement, and claims as many rows of each
 * queue as it has places, in their order. Work that exists is not changed.
 * @param rows query for `queue`, `key`, `tenant`, `payload`, `traceparent`, `number` within the queue, and `places`
 */
export function addStartedWork(rows: string, [lease, worker, leaseMs]: [string, string, string]): string {
  const ifStarted = (value: string) => `CASE WHEN number <= places THEN ${value} END`;
  return `added AS (
    INSERT INTO work (queue, key, tenant, payload, traceparent, ready_at, state, position, attempts, lease, worker, due_at)
    SELECT queue, key, tenant, payload, traceparent, now(), CASE WHEN number <= places THEN 'running' ELSE 'ready' END,
      CASE WHEN number > places THEN ${nextPosition('new.queue', 'new.tenant')} + number END,
      CASE WHEN number <= places THEN 1 ELSE 0 END, ${ifStarted(lease)}, ${ifStarted(worker)},
      ${ifStarted(`now() + ${leaseMs} * interval '1 millisecond'`)}
    FROM (${rows}) AS new ORDER BY queue, number
    ON CONFLICT DO NOTHING
    RETURNING ${claimedColumns}, lease)`;
}

const claimed = `state = 'running', position = NULL, lease = $3, worker = $4, attempts = attempts + 1,
      due_at = now() + $5::int * interval '1 millisecond'`;
const readyWork = { table: 'work', where: `queue = $1 AND state = 'ready'`, orderBy: 'position, id', limit: '$2' };

/** Claims in queues without ordering keys and limits for tenants. */
export const claimFirst = `UPDATE work SET ${claimed}
    WHERE queue = $1 AND key = ANY (ARRAY(${lockNext({ ...readyWork, columns: 'key' })}))
    RETURNING ${claimedColumns}`;

function claimStatement(ordered: { ctes: string; condition: string }) {
  const candidates = lockNext({
    ...readyWork,
    columns: 'key, tenant, ordering_key, id, position',
    where: `${readyWork.where} AND tenant <> ALL ($6::text[])`,
  });
  return `WITH candidate AS MATERIALIZED (${candidates}),
    numbered AS (
      SELECT key, row_number() OVER (PARTITION BY tenant ORDER BY position, id) + coalesce(running.count, 0) AS number
      FROM candidate LEFT JOIN unnest($7::text[], $8::int[]) AS running (tenant, count) USING (tenant))${ordered.ctes}
    UPDATE work SET ${claimed}
    FROM numbered WHERE queue = $1 AND work.key = numbered.key AND number <= $9::float8${ordered.condition}
    RETURNING ${claimedColumns}, (SELECT count(*)::int FROM candidate) AS seen`;
}

export const claimCapped = claimStatement({ ctes: '', condition: '' });

const isBefore = `sibling.queue = $1 AND sibling.ordering_key = candidate.ordering_key AND sibling.state <> 'failed'
  AND sibling.key <> candidate.key AND (sibling.id < candidate.id OR sibling.state = 'running')`;

/**
 * Transactions that add to one ordering key at once do not see each other, so several of its rows may be ready. All but
 * the first become queued, if the one before them can be locked: it may be ending, and would not wake them then.
 */
export const claimOrdered = claimStatement({
  ctes: `,
    behind AS MATERIALIZED (SELECT key FROM candidate WHERE EXISTS (SELECT FROM work AS sibling WHERE ${isBefore})),
    held AS MATERIALIZED (
      SELECT candidate.key FROM candidate JOIN behind USING (key),
        LATERAL (SELECT FROM work AS sibling WHERE ${isBefore} ORDER BY id LIMIT 1 FOR SHARE SKIP LOCKED) AS first),
    put_behind AS (
      UPDATE work SET state = 'queued', position = NULL FROM held WHERE work.queue = $1 AND work.key = held.key)`,
  condition: ' AND NOT EXISTS (SELECT FROM behind WHERE behind.key = work.key)',
});
