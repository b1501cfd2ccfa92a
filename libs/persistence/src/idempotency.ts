import { createHash } from 'node:crypto';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import { markReplayed } from '@parley/contracts/replayed';
import type { Database, Sql, Transaction } from './database';
import { deleteOlder } from './delete-older';
import { isUnsettled } from './errors';

const keptHours = 24;

/** Caller fields that determine the scope of an idempotency key. The service has verified the user. */
export type IdempotencyScope = Pick<
  Caller,
  'idempotencyKey' | 'credential' | 'account' | 'workspace' | 'bot' | 'integration' | 'user'
>;

type RowKey = [scope: string, operation: string, key: string];

interface StoredAnswer<T> {
  answer: T;
  isFinal: boolean;
  isReplayed: boolean;
}

const whereKey = 'scope = $1 AND operation = $2 AND key = $3';

/** Idempotency keys: a request with a key takes effect once, however often it is sent within 24 hours. */
export class Idempotency {
  constructor(private readonly database: Database) {}

  /**
   * Runs `work` and stores its answer for the caller's key in the same transaction; a retry gets the stored answer.
   * Nothing is stored when `work` throws, or returns undefined for no effect. Without a key this is an ordinary
   * transaction. Retries do not run `work`: use `tx.afterCommit` for follow-up actions.
   *
   * Throws ResourceLockedConflict while a request with this key is running, and InvalidPayload when the key was used
   * for another input.
   *
   * @param complete completes the answer after the commit. May run again for a retry that comes too early; the first
   * result counts for all.
   */
  async run<T extends object | undefined>(
    caller: IdempotencyScope,
    { subject }: Operation,
    input: object,
    work: (tx: Transaction) => Promise<T>,
    complete?: (answer: T & object) => Promise<T & object>,
  ): Promise<T> {
    const { idempotencyKey } = caller;
    if (idempotencyKey === undefined) {
      const answer = await this.database.transaction(work);
      return answer && complete ? complete(answer) : answer;
    }
    const rowKey: RowKey = [scopeOf(caller), subject, idempotencyKey];
    const bodyHash = hashOf(input);
    const stored = await this.database.transaction(async (tx): Promise<StoredAnswer<T>> => {
      if (!(await claimKey(tx, rowKey, caller, bodyHash))) return (await findAnswer<T>(tx, rowKey, bodyHash))!;
      const answer = await work(tx);
      await storeAnswer(tx, rowKey, answer, !complete);
      return { answer, isFinal: !complete, isReplayed: false };
    });
    if (!stored.answer) return stored.answer;
    const answer = stored.isFinal || !complete ? stored.answer : await this.complete(rowKey, stored.answer, complete);
    return stored.isReplayed ? markReplayed(answer) : answer;
  }

  /** Variant of `run` for a single statement, which needs no explicit transaction without a key. */
  async runStatement<T extends object>(
    caller: IdempotencyScope,
    operation: Operation,
    input: object,
    work: (sql: Sql) => Promise<T>,
  ): Promise<T> {
    return caller.idempotencyKey === undefined ? work(this.database) : this.run(caller, operation, input, work);
  }

  /**
   * Stored answer of the caller's key, for work that another service must do first. Undefined without a key and for a
   * first request. Throws InvalidPayload as `run` does.
   */
  async find<T extends object>(
    caller: IdempotencyScope,
    { subject }: Operation,
    input: object,
  ): Promise<T | undefined> {
    const { idempotencyKey } = caller;
    if (idempotencyKey === undefined) return undefined;
    const stored = await findAnswer<T>(this.database, [scopeOf(caller), subject, idempotencyKey], hashOf(input));
    return stored?.isFinal ? markReplayed(stored.answer) : undefined;
  }

  /** Deletes expired answers. Index idempotency_key_created. */
  async deleteExpired(): Promise<void> {
    await deleteOlder(this.database, 'idempotency_key', 'created_at', keptHours);
  }

  /** Completes the answer after the commit: an error here must not look like a request that was not processed. */
  private async complete<T extends object>(rowKey: RowKey, draft: T, complete: (answer: T) => Promise<T>): Promise<T> {
    try {
      return await this.finish(rowKey, await complete(draft));
    } catch (error) {
      if (!isUnsettled(error)) throw error;
      throw new ApiError(
        'OperationTimeout',
        'The request was processed, but the database did not answer afterwards. Send it again with the same Idempotency-Key to get its answer.',
        { cause: error },
      );
    }
  }

  /** Stores and returns the final answer: this one, unless another process was first. */
  private async finish<T>(rowKey: RowKey, answer: T): Promise<T> {
    const rows = await this.database.query(
      `UPDATE idempotency_key SET answer = $4, is_final = true WHERE ${whereKey} AND NOT is_final RETURNING 1`,
      [...rowKey, JSON.stringify(answer)],
    );
    if (rows.length > 0) return answer;
    const [row] = await this.database.query<{ answer: string }>(
      `SELECT answer FROM idempotency_key WHERE ${whereKey} AND is_final`,
      rowKey,
    );
    return row ? (JSON.parse(row.answer) as T) : answer;
  }
}

/** True for the first request with this key. An advisory lock keeps the key until the transaction ends. */
async function claimKey(
  tx: Transaction,
  rowKey: RowKey,
  { bot }: IdempotencyScope,
  bodyHash: Buffer,
): Promise<boolean> {
  const [found] = await tx.query<{ isFree: boolean; isFirst: boolean }>(
    `WITH lock AS MATERIALIZED (
       SELECT pg_try_advisory_xact_lock(hashtextextended(
         concat_ws(chr(10), 'idempotency', current_schema(), $1::text, $2::text, $3::text), 0)) AS is_free),
     claimed AS (
       INSERT INTO idempotency_key (scope, operation, key, body_hash, bot_id)
       SELECT $1, $2, $3, $4, $6 FROM lock WHERE is_free
       ON CONFLICT (scope, operation, key) DO UPDATE
       SET body_hash = excluded.body_hash, answer = NULL, is_final = false, created_at = now()
       WHERE idempotency_key.created_at < now() - make_interval(hours => $5)
       RETURNING 1)
     SELECT is_free AS "isFree", EXISTS (SELECT FROM claimed) AS "isFirst" FROM lock`,
    [...rowKey, bodyHash, keptHours, bot?.id ?? null],
  );
  if (!found!.isFree)
    throw new ApiError(
      'ResourceLockedConflict',
      'A request with this Idempotency-Key is still being processed. Send it again in a moment to get its answer.',
      { retryAfterSeconds: 1 },
    );
  return found!.isFirst;
}

async function findAnswer<T>(sql: Sql, rowKey: RowKey, bodyHash: Buffer): Promise<StoredAnswer<T> | undefined> {
  const [row] = await sql.query<{ body_hash: Buffer; answer: string; is_final: boolean }>(
    `SELECT body_hash, answer, is_final FROM idempotency_key
     WHERE ${whereKey} AND created_at >= now() - make_interval(hours => $4)`,
    [...rowKey, keptHours],
  );
  if (!row) return undefined;
  if (!row.body_hash.equals(bodyHash))
    throw new ApiError(
      'InvalidPayload',
      'The Idempotency-Key was used for a different request. Send that request unchanged, or use a new key for this one.',
    );
  return { answer: JSON.parse(row.answer) as T, isFinal: row.is_final, isReplayed: true };
}

function hashOf(input: object): Buffer {
  return createHash('sha256').update(JSON.stringify(input)).digest();
}

/** A request without effect frees its key. */
async function storeAnswer(
  tx: Transaction,
  rowKey: RowKey,
  answer: object | undefined,
  isFinal: boolean,
): Promise<void> {
  if (!answer) {
    await tx.query(`DELETE FROM idempotency_key WHERE ${whereKey}`, rowKey);
    return;
  }
  await tx.query(`UPDATE idempotency_key SET answer = $4, is_final = $5 WHERE ${whereKey}`, [
    ...rowKey,
    JSON.stringify(answer),
    isFinal,
  ]);
}

/** Throws for an anonymous caller: all of them would share their keys. */
function scopeOf({ credential, account, workspace, bot, integration, user }: IdempotencyScope): string {
  if ((credential === 'none' || credential === 'user') && !user)
    throw new Error('An anonymous request cannot have an idempotency key: exclude its operation from idempotency.');
  const ownerId = bot?.id ?? workspace?.id;
  const parts = [credential, account?.id, ownerId, integration?.alias ?? integration?.id, user?.id];
  return JSON.stringify(parts.map((part) => part ?? null));
}
