import { Injectable } from '@nestjs/common';
import { retryBackoffMs } from '@parley/background/retry-backoff';
import type { WorkState } from '@parley/contracts/work';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { isUniqueViolation } from '@parley/persistence/errors';
import { newUlid } from '@parley/persistence/ids';
import { toJsonb, toText } from '@parley/persistence/storable';
import { currentTraceparent } from '@parley/tracing/tracing';
import { lockNext } from '@parley/persistence/lock-next';
import type { NewWork, Queue } from './queue';
import {
  claimCapped,
  claimFirst,
  claimOrdered,
  firstPosition,
  insertOne,
  insertOrdered,
  insertUnordered,
  makeReady,
  nextPosition,
  ready,
  released,
} from './work-statements';
import type { WorkEntity } from './work.entity';

/** Work that this process has claimed. `lease` is a fencing token. */
export interface LeasedWork {
  queue: string;
  key: string;
  tenant: string;
  orderingKey: string | null;
  payload: unknown;
  attempt: number;
  failures: number;
  lastError: string | null;
  traceparent: string | null;
  createdAt: Date;
  lease: string;
  /** Ready work that its claim has seen, where a claim may leave some of it. */
  seen?: number;
}

export type LeaseOf = Pick<LeasedWork, 'queue' | 'key' | 'lease'>;

export interface ClaimLimits {
  worker: string;
  leaseMs: number;
  /** Free places of the process. */
  limit: number;
  perTenant: number;
  /** Work of each tenant that runs in the process. */
  running: ReadonlyMap<string, number>;
  /** Tenants that get no further place. */
  skippedTenants?: ReadonlySet<string>;
}

/** Figures of a queue in one state. */
export interface QueueDepth {
  queue: string;
  state: WorkState;
  count: number;
  oldestSeconds: number;
}

export interface WorkFilter {
  /** Prefix of its queues. */
  service?: string;
  queue?: string;
  key?: string;
  states?: WorkState[];
  limit: number;
}

export interface Polled {
  /** Queues that have ready work. */
  ready: string[];
  /** Until the next work becomes due; undefined without any. */
  nextDueMs?: number;
}

const maxReleased = 1_000;
const maxErrorLength = 2_000;
/** Longer pauses are shortened, so that a later due time shows that the clock of the database went back. */
const maxPauseMs = 600_000;
/** Backoff in milliseconds by the number of processes that have ended, without the first one. */
const crashPauses = Array.from({ length: 8 }, (_, index) => retryBackoffMs(index + 1));

const leased = 'queue = $1 AND key = $2 AND lease = $3';
const forgotten = `SELECT work.queue, work.key FROM (
    SELECT DISTINCT ON (queue, ordering_key) queue, key FROM work
    WHERE ordering_key IS NOT NULL AND state <> 'failed' ORDER BY queue, ordering_key, id) AS head
  JOIN work USING (queue, key) WHERE state = 'queued'`;
/** SQL of the queue. Statements that end a lease change nothing when the lease is lost. */
@Injectable()
export class WorkRepository {
  constructor(private readonly database: Database) {}

  /**
   * Adds work in one statement. Keys that wait already keep their place; an earlier due time moves them forward.
   * Locks the last work of each ordering key, so that it cannot end unseen by the work behind it.
   */
  async insertWork(
    { name, repeated, isOrdered }: Queue,
    works: NewWork<unknown>[],
    sql: Sql = this.database,
  ): Promise<void> {
    const traceparent = currentTraceparent() ?? null;
    const isRepeated = repeated === 'again';
    const [first, ...more] = works.map(({ key, tenant, payload, dueAt, orderingKey, ...work }) => ({
      ...{ key, tenant, payload: payload ?? null, due_at: dueAt ?? null },
      traceparent: work.traceparent ?? traceparent,
      ordering_key: orderingKey ?? null,
    }));
    if (!first) return;
    if (more.length === 0 && !isOrdered) {
      const { key, tenant, payload, due_at, traceparent } = first;
      const values = [name, key, tenant, toJsonb(payload), due_at, traceparent, isRepeated];
      await sql.query(insertOne, values, 'insert_work');
      return;
    }
    const [text, statement] = isOrdered ? [insertOrdered, 'insert_ordered_works'] : [insertUnordered, 'insert_works'];
    await sql.query(text, [name, isRepeated, toJsonb([first, ...more])], statement);
  }

  /**
   * Claims ready work by position, at most `perTenant` for each tenant. Index work_ready. Empty when another process has
   * claimed work with the same ordering key meanwhile.
   */
  async claimWork(
    { name, isOrdered }: Queue,
    { worker, leaseMs, limit, perTenant, running, skippedTenants = new Set() }: ClaimLimits,
  ): Promise<LeasedWork[]> {
    const lease = newUlid();
    const limited = [[...skippedTenants], [...running.keys()], [...running.values()], perTenant];
    const [text, statement, more] = isOrdered
      ? [claimOrdered, 'claim_ordered_work', limited]
      : perTenant < Infinity
        ? [claimCapped, 'claim_capped_work', limited]
        : [claimFirst, 'claim_work', []];
    const rows = await this.database
      .query<Omit<LeasedWork, 'lease'>>(text, [name, limit, lease, worker, leaseMs, ...more], statement)
      .catch((error: unknown) => {
        if (isUniqueViolation(error, 'work_running_of_key')) return [];
        throw error;
      });
    return rows.map((row) => ({ ...row, lease }));
  }

  /**
   * Heartbeat of several leases. Returns those that are lost. Rows that a transaction has locked are skipped: nobody can
   * take them over meanwhile.
   */
  renewLeases(leases: (LeaseOf & { leaseMs: number })[]): Promise<LeaseOf[]> {
    return this.database.query<LeaseOf>(
      `WITH held AS (
         SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS held (queue, key, lease, lease_ms)),
       locked AS (
         SELECT work.queue, work.key, lease_ms FROM work JOIN held USING (queue, key, lease) FOR UPDATE OF work SKIP LOCKED),
       renewed AS (
         UPDATE work SET due_at = now() + lease_ms * interval '1 millisecond'
         FROM locked WHERE work.queue = locked.queue AND work.key = locked.key)
       SELECT queue, key, lease FROM held WHERE NOT EXISTS (
         SELECT FROM work WHERE work.queue = held.queue AND work.key = held.key AND work.lease = held.lease)`,
      [
        leases.map(({ queue }) => queue),
        leases.map(({ key }) => key),
        leases.map(({ lease }) => lease),
        leases.map(({ leaseMs }) => leaseMs),
      ],
    );
  }

  /** Locks the work until the transaction ends. False when the lease is lost: the transaction must change nothing. */
  async lockLease(tx: Transaction, { queue, key, lease }: LeaseOf): Promise<boolean> {
    const rows = await tx.query(`SELECT 1 FROM work WHERE ${leased} FOR UPDATE`, [queue, key, lease]);
    return rows.length > 0;
  }

  /** Like `lockLease`. Attempts are counted anew. */
  async recordProgress(tx: Transaction, { queue, key, lease }: LeaseOf): Promise<boolean> {
    const rows = await tx.query(`UPDATE work SET attempts = 1, failures = 0 WHERE ${leased} RETURNING 1`, [
      queue,
      key,
      lease,
    ]);
    return rows.length > 0;
  }

  /**
   * Deletes the work, or makes it ready when it was added again. Then makes the next of its ordering key ready, in a
   * commit of its own: `promoteForgotten` finds it if the process ends in between. True when more work became ready.
   */
  async finishWork(work: LeasedWork): Promise<boolean> {
    const { queue, key, lease, orderingKey } = work;
    const gone = await this.database.query(
      `DELETE FROM work WHERE ${leased} AND NOT again RETURNING 1`,
      [queue, key, lease],
      'finish_work',
    );
    if (gone.length === 0) return this.requeueWork(work);
    return orderingKey !== null && promoteNext(this.database, queue, orderingKey);
  }

  /** The work is `ready` again, behind that of other tenants. Its attempts start anew. False when the lease is lost. */
  async requeueWork({ queue, key, lease, tenant }: LeasedWork): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE work SET ${ready}, position = ${nextPosition('$1', '$4')}, attempts = 0, failures = 0,
         last_error = NULL, ${released}
       WHERE ${leased} RETURNING 1`,
      [queue, key, lease, tenant],
      'requeue_work',
    );
    return rows.length > 0;
  }

  /** The work becomes ready after the pause. Its ordering key waits with it. */
  async postponeWork(
    { queue, key, lease }: LeaseOf,
    { pauseMs, error, counts }: { pauseMs: number; error: string; counts: 'nothing' | 'attempt' | 'failure' },
  ): Promise<void> {
    await this.database.query(
      `UPDATE work SET state = 'waiting', lease = NULL, again = false, last_error = $4, attempts = attempts - $6,
         failures = failures + $7, due_at = now() + $5::float8 * interval '1 millisecond'
       WHERE ${leased}`,
      [
        ...[queue, key, lease, toText(error).slice(0, maxErrorLength), Math.min(pauseMs, maxPauseMs)],
        ...[counts === 'nothing' ? 1 : 0, counts === 'failure' ? 1 : 0],
      ],
    );
  }

  /**
   * Changes places with the first of these keys that waits, or postpones the work. The attempt does not count. True when
   * other work became ready.
   */
  yieldWork(
    work: LeasedWork,
    { keys, pauseMs, error }: { keys: string[]; pauseMs: number; error: string },
  ): Promise<boolean> {
    return this.inOrder(work, async (sql) => {
      const { queue, key, lease, orderingKey } = work;
      await sql.query(
        `WITH self AS MATERIALIZED (SELECT key, id FROM work WHERE ${leased} FOR UPDATE),
         other AS MATERIALIZED (
           SELECT key, id FROM work WHERE queue = $1 AND ordering_key = $4 AND key = ANY ($5::text[])
             AND state IN ('ready', 'waiting', 'queued', 'parked')
           ORDER BY array_position($5::text[], key) LIMIT 1 FOR UPDATE),
         moved AS (UPDATE work SET id = self.id FROM self, other WHERE work.queue = $1 AND work.key = other.key)
         UPDATE work SET id = coalesce(other.id, work.id), lease = NULL, again = false, attempts = attempts - 1,
           last_error = $6, state = CASE WHEN other.id IS NULL THEN 'waiting' ELSE 'queued' END,
           due_at = CASE WHEN other.id IS NULL THEN now() + $7::float8 * interval '1 millisecond' END
         FROM self LEFT JOIN other ON true WHERE work.queue = $1 AND work.key = self.key`,
        [queue, key, lease, orderingKey, keys, toText(error).slice(0, maxErrorLength), pauseMs],
      );
      return false;
    });
  }

  /** Whether one of the keys waits or runs. Primary key. */
  async hasWork(queue: string, keys: string[]): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT FROM work WHERE queue = $1 AND key = ANY ($2) AND state <> 'failed' LIMIT 1`,
      [queue, keys],
    );
    return rows.length > 0;
  }

  /** At a stop: the work is ready for another process, before all other work. The attempt does not count. */
  async giveBackWork({ queue, key, lease }: LeaseOf): Promise<void> {
    await this.database.query(
      `UPDATE work SET ${ready}, position = ${firstPosition('$1')}, attempts = attempts - 1, ${released}
       WHERE ${leased}`,
      [queue, key, lease],
    );
  }

  /** Parked work costs no claims until it is woken. The attempt does not count. Its ordering key waits with it. */
  async parkWork(
    { queue, key, lease }: LeaseOf,
    { waitsFor, until, error }: { waitsFor: string; until: Date; error: string },
  ): Promise<void> {
    await this.database.query(
      `UPDATE work SET state = 'parked', lease = NULL, again = false, last_error = $4, attempts = attempts - 1,
         waits_for = $5, due_at = $6
       WHERE ${leased}`,
      [queue, key, lease, toText(error).slice(0, maxErrorLength), waitsFor, until],
    );
  }

  /** Makes parked work ready. Index work_parked. Returns the number. */
  async unparkWork(queue: string, waitsFor: string, limit?: number): Promise<number> {
    const rows = await this.database.query(
      makeReady(
        `SELECT queue, key FROM work WHERE queue = $1 AND state = 'parked' AND waits_for = $2 ORDER BY id LIMIT $3 FOR UPDATE`,
      ),
      [queue, waitsFor, limit ?? null],
    );
    return rows.length;
  }

  /** Keeps the work for an operator. True when work behind it became ready. */
  failWork(work: LeasedWork, error: string): Promise<boolean> {
    return this.inOrder(work, async (sql) => {
      const { queue, key, lease } = work;
      await sql.query(`UPDATE work SET state = 'failed', last_error = $4, ${released} WHERE ${leased}`, [
        queue,
        key,
        lease,
        toText(error).slice(0, maxErrorLength),
      ]);
      return false;
    });
  }

  /**
   * Makes due work ready: waiting and parked work, and work whose lease has ended. Work whose processes have ended more
   * than once waits first. Index work_due. Returns the queues with ready work, so that a lost wake-up costs one interval.
   * @param attempts limit of each queue: work that has reached it does not wait, because the next claim gives it up
   */
  async releaseDueWork(queues: string[], attempts: number[] = []): Promise<Polled> {
    const [row] = await this.database.query<{ ready: string[] | null; nextDueMs: number | null }>(
      `WITH due AS MATERIALIZED (
         ${lockNext({ table: 'work', columns: 'queue, key, state, attempts', where: 'due_at <= now()', orderBy: 'due_at', limit: maxReleased })}),
       crashed AS MATERIALIZED (
         SELECT queue, key, due.attempts FROM due JOIN unnest($1::text[], $2::float8[]) AS worker (queue, attempts) USING (queue)
         WHERE state = 'running' AND due.attempts > 1 AND due.attempts < worker.attempts),
       postponed AS (
         UPDATE work SET state = 'waiting', lease = NULL, again = false, due_at = now()
           + ($3::int[])[least(crashed.attempts - 1, cardinality($3))] * interval '1 millisecond'
         FROM crashed WHERE work.queue = crashed.queue AND work.key = crashed.key
         RETURNING work.due_at),
       freed AS (${makeReady('SELECT queue, key FROM due WHERE (queue, key) NOT IN (SELECT queue, key FROM crashed)')})
       SELECT (SELECT array_agg(name) FROM unnest($1::text[]) AS queue (name)
           WHERE name IN (SELECT queue FROM freed) OR EXISTS (SELECT FROM work WHERE queue = name AND state = 'ready')) AS ready,
         (extract(epoch FROM least((SELECT min(due_at) FROM postponed),
           (SELECT min(due_at) FROM work WHERE due_at > now())) - now()) * 1000)::float8 AS "nextDueMs"`,
      [queues, attempts, crashPauses],
      'release_due_work',
    );
    return { ready: row!.ready ?? [], nextDueMs: row!.nextDueMs ?? undefined };
  }

  /** Ends the leases of a crashed process with the same name. Its attempts count. */
  async endLeasesOf(worker: string, queues: string[]): Promise<void> {
    await this.database.query(
      `UPDATE work SET due_at = now() WHERE state = 'running' AND worker = $1 AND queue = ANY ($2)`,
      [worker, queues],
    );
  }

  /**
   * Finds queued work that has nothing before it. For a moment there is some between the two commits of `finishWork`. It stays
   * when a process ends there, or when the same key was added twice at once. Index work_ordered.
   */
  findForgotten(): Promise<Pick<LeaseOf, 'queue' | 'key'>[]> {
    return this.database.query(forgotten);
  }

  /** Makes those of this work ready that still have nothing before them. Returns the number. */
  async promoteForgotten(works: Pick<LeaseOf, 'queue' | 'key'>[]): Promise<number> {
    const rows = await this.database.query(
      makeReady(
        `${forgotten} AND (work.queue, work.key) IN (SELECT * FROM unnest($1::text[], $2::text[])) FOR UPDATE OF work SKIP LOCKED`,
      ),
      [works.map(({ queue }) => queue), works.map(({ key }) => key)],
    );
    return rows.length;
  }

  /**
   * Clock skew: attempts and leases that are due later than any pause or lease lasts become due, because the clock of the
   * database went ahead and back. Returns the number. Index work_due.
   */
  async advanceTooFarAhead(): Promise<number> {
    const rows = await this.database.query(
      `UPDATE work SET due_at = now() FROM (
         ${lockNext({
           table: 'work',
           columns: 'queue, key',
           where: `due_at > now() + $1::int * interval '1 millisecond'
             AND (state = 'running' OR state = 'waiting' AND last_error IS NOT NULL)`,
           orderBy: 'due_at',
           limit: maxReleased,
         })}) AS ahead
       WHERE work.queue = ahead.queue AND work.key = ahead.key RETURNING 1`,
      [maxPauseMs],
    );
    return rows.length;
  }

  /** Index: none, for an operator and for metrics. */
  measureDepth(): Promise<QueueDepth[]> {
    return this.database.query<QueueDepth>(
      `SELECT queue, state, count(*)::int AS count,
         extract(epoch FROM now() - min(CASE state WHEN 'ready' THEN ready_at ELSE created_at END))::float8 AS "oldestSeconds"
       FROM work GROUP BY queue, state`,
    );
  }

  /** Oldest first. */
  listWork({ service, queue, key, states, limit }: WorkFilter): Promise<WorkEntity[]> {
    return this.database.query<WorkEntity>(
      `SELECT * FROM work WHERE ($1::text IS NULL OR queue = $1) AND ($2::text IS NULL OR key = $2)
         AND ($3::text[] IS NULL OR state = ANY ($3)) AND ($4::text IS NULL OR starts_with(queue, $4 || '.'))
       ORDER BY created_at, id LIMIT $5`,
      [queue ?? null, key ?? null, states ?? null, service ?? null, limit],
    );
  }

  /** Makes failed, waiting and parked work ready, with all of its attempts. Returns the number. */
  async retryWork(queue: string, key?: string): Promise<number> {
    const rows = await this.database.query(
      makeReady(
        `SELECT queue, key FROM work WHERE queue = $1 AND ($2::text IS NULL OR key = $2)
           AND (state = 'failed' OR $2::text IS NOT NULL AND state IN ('waiting', 'parked')) FOR UPDATE`,
        'attempts = 0, failures = 0',
      ),
      [queue, key ?? null],
    );
    return rows.length;
  }

  /** Deletes work that does not run. False when there is none. */
  discardWork(queue: string, key: string): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const [row] = await tx.query<{ orderingKey: string | null }>(
        `DELETE FROM work WHERE queue = $1 AND key = $2 AND state <> 'running' RETURNING ordering_key AS "orderingKey"`,
        [queue, key],
      );
      if (row?.orderingKey != null) await promoteNext(tx, queue, row.orderingKey);
      return row !== undefined;
    });
  }

  /** Deletes all work of a tenant that does not run. A running handler finds the tenant gone. */
  async deleteOfTenant(sql: Sql, tenant: string): Promise<void> {
    await sql.query(`DELETE FROM work WHERE tenant = $1 AND state <> 'running'`, [tenant]);
  }

  /** Ends the work, then makes the next of its ordering key ready. */
  private async inOrder(work: LeasedWork, end: (sql: Sql) => Promise<boolean>): Promise<boolean> {
    const { queue, orderingKey } = work;
    if (orderingKey === null) return end(this.database);
    return this.database.transaction(async (tx) => {
      const isReady = await end(tx);
      // A statement of its own, since it has to see work whose transaction `end` has waited for.
      return (await promoteNext(tx, queue, orderingKey)) || isReady;
    });
  }
}

async function promoteNext(sql: Sql, queue: string, orderingKey: string): Promise<boolean> {
  const rows = await sql.query(
    makeReady(
      `SELECT queue, key FROM (SELECT queue, key, state FROM work
         WHERE queue = $1 AND ordering_key = $2 AND state <> 'failed' ORDER BY id LIMIT 1 FOR UPDATE) AS next
       WHERE state = 'queued'`,
    ),
    [queue, orderingKey],
    'promote_next_work',
  );
  return rows.length > 0;
}
