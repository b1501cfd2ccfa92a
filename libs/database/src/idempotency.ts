import { createHash } from 'node:crypto';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import { markReplayed } from '@parley/contracts/replayed';
import type { Database, Sql, Transaction } from './database';
import { deleteOlder } from './delete-older';
import { isUnsettled } from './errors';
import { IdempotencyKeys1700000000140 } from './migrations/1700000000140-idempotency-keys';

/** The table that every service has for its answers. */
export const idempotencyMigrations = [IdempotencyKeys1700000000140];

const keptHours = 24;

/** Who asks, as far as it tells the keys of one from those of another. A user is one that the service has verified. */
export type Asker = Pick<
  Caller,
  'idempotencyKey' | 'credential' | 'account' | 'workspace' | 'bot' | 'integration' | 'user'
>;

/** Scope, operation and key: what names one request among those of all. */
type Name = [scope: string, operation: string, key: string];

interface Kept<T> {
  answer: T;
  isFinal: boolean;
  isReplayed: boolean;
}

const named = 'scope = $1 AND operation = $2 AND key = $3';

/** Makes a request with an idempotency key have its effect once, however often it is sent within 24 hours. */
export class Idempotency {
  constructor(private readonly database: Database) {}

  /**
   * What `work` answers. Its transaction also keeps the answer for the caller's key, so that a repeat gets the same; when
   * `work` throws, or answers undefined for having done nothing, nothing is kept. Without a key it is a transaction like
   * any other. A repeat does not run `work`: whatever follows the commit belongs into `tx.afterCommit`.
   *
   * Throws ResourceLockedConflict while a request with this key is under way, and InvalidPayload when the key was used for
   * another input.
   *
   * @param complete makes the answer whole after the commit. It may run again, for a repeat that comes before it is done;
   * the first that ends gives the answer to all.
   */
  async run<T extends object | undefined>(
    asker: Asker,
    { subject }: Operation,
    input: object,
    work: (tx: Transaction) => Promise<T>,
    complete?: (answer: T & object) => Promise<T & object>,
  ): Promise<T> {
    const { idempotencyKey } = asker;
    if (idempotencyKey === undefined) {
      const answer = await this.database.transaction(work);
      return answer && complete ? complete(answer) : answer;
    }
    const name: Name = [scopeOf(asker), subject, idempotencyKey];
    const bodyHash = hashOf(input);
    const kept = await this.database.transaction(async (tx): Promise<Kept<T>> => {
      if (!(await claim(tx, name, asker, bodyHash))) return (await find<T>(tx, name, bodyHash))!;
      const answer = await work(tx);
      await keep(tx, name, answer, !complete);
      return { answer, isFinal: !complete, isReplayed: false };
    });
    if (!kept.answer) return kept.answer;
    const answer = kept.isFinal || !complete ? kept.answer : await this.complete(name, kept.answer, complete);
    return kept.isReplayed ? markReplayed(answer) : answer;
  }

  /** The same for work that is one statement, which needs no transaction of its own without a key. */
  async runStatement<T extends object>(
    asker: Asker,
    operation: Operation,
    input: object,
    work: (sql: Sql) => Promise<T>,
  ): Promise<T> {
    return asker.idempotencyKey === undefined ? work(this.database) : this.run(asker, operation, input, work);
  }

  /**
   * The answer that is kept for the caller's key: for whoever must look at more before it runs the work, such as another
   * service. Undefined without a key, and for a first request. Throws InvalidPayload as `run` does.
   */
  async find<T extends object>(asker: Asker, { subject }: Operation, input: object): Promise<T | undefined> {
    const { idempotencyKey } = asker;
    if (idempotencyKey === undefined) return undefined;
    const kept = await find<T>(this.database, [scopeOf(asker), subject, idempotencyKey], hashOf(input));
    return kept?.isFinal ? markReplayed(kept.answer) : undefined;
  }

  /** Forgets what is no longer replayed. Index idempotency_key_created. */
  async deleteExpired(): Promise<void> {
    await deleteOlder(this.database, 'idempotency_key', 'created_at', keptHours);
  }

  /** The effect is committed: a failure must not say that nothing was done. */
  private async complete<T extends object>(name: Name, draft: T, complete: (answer: T) => Promise<T>): Promise<T> {
    try {
      return await this.finish(name, await complete(draft));
    } catch (error) {
      if (!isUnsettled(error)) throw error;
      throw new ApiError(
        'OperationTimeout',
        'It was done, and the database did not answer then. Send it again with the same Idempotency-Key to get its answer.',
        { cause: error },
      );
    }
  }

  /** The answer that counts: this one, unless another was first. */
  private async finish<T>(name: Name, answer: T): Promise<T> {
    const rows = await this.database.query(
      `UPDATE idempotency_key SET answer = $4, is_final = true WHERE ${named} AND NOT is_final RETURNING 1`,
      [...name, JSON.stringify(answer)],
    );
    if (rows.length > 0) return answer;
    const [row] = await this.database.query<{ answer: string }>(
      `SELECT answer FROM idempotency_key WHERE ${named} AND is_final`,
      name,
    );
    return row ? (JSON.parse(row.answer) as T) : answer;
  }
}

/** Whether this request is the first of its name. Nobody else may have the name until the transaction ends. */
async function claim(tx: Transaction, name: Name, { bot }: Asker, bodyHash: Buffer): Promise<boolean> {
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
    [...name, bodyHash, keptHours, bot?.id ?? null],
  );
  if (!found!.isFree)
    throw new ApiError(
      'ResourceLockedConflict',
      'A request with this Idempotency-Key is still under way. Send it again in a moment to get its answer.',
      { retryAfterSeconds: 1 },
    );
  return found!.isFirst;
}

async function find<T>(sql: Sql, name: Name, bodyHash: Buffer): Promise<Kept<T> | undefined> {
  const [row] = await sql.query<{ body_hash: Buffer; answer: string; is_final: boolean }>(
    `SELECT body_hash, answer, is_final FROM idempotency_key
     WHERE ${named} AND created_at >= now() - make_interval(hours => $4)`,
    [...name, keptHours],
  );
  if (!row) return undefined;
  if (!row.body_hash.equals(bodyHash))
    throw new ApiError(
      'InvalidPayload',
      'The header Idempotency-Key has the key of another request. Send that one unchanged, or choose a new key for this one.',
    );
  return { answer: JSON.parse(row.answer) as T, isFinal: row.is_final, isReplayed: true };
}

function hashOf(input: object): Buffer {
  return createHash('sha256').update(JSON.stringify(input)).digest();
}

/** A request that did nothing frees its name. */
async function keep(tx: Transaction, name: Name, answer: object | undefined, isFinal: boolean): Promise<void> {
  if (!answer) {
    await tx.query(`DELETE FROM idempotency_key WHERE ${named}`, name);
    return;
  }
  await tx.query(`UPDATE idempotency_key SET answer = $4, is_final = $5 WHERE ${named}`, [
    ...name,
    JSON.stringify(answer),
    isFinal,
  ]);
}

/** The keys of strangers would be each other's. */
function scopeOf({ credential, account, workspace, bot, integration, user }: Asker): string {
  if ((credential === 'none' || credential === 'user') && !user)
    throw new Error('A request of nobody has an idempotency key: its operation must not take one.');
  const place = bot?.id ?? workspace?.id;
  const parts = [credential, account?.id, place, integration?.alias ?? integration?.id, user?.id];
  return JSON.stringify(parts.map((part) => part ?? null));
}
