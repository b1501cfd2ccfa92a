import { Injectable } from '@nestjs/common';
import { Database, type Transaction } from '@parley/persistence/database';

export interface ProviderObservation {
  name: string;
  /** Absent after an answer. */
  error?: string;
  /** Names that the server has listed. */
  models?: string[];
}

export interface ObservedProvider {
  id: string;
  failing_since: Date | null;
  last_error: string | null;
  last_error_at: Date | null;
  models: string[] | null;
}

@Injectable()
export class ProviderStatesRepository {
  constructor(private readonly database: Database) {}

  /** Those that were asked at least once. */
  list(names: string[]): Promise<ObservedProvider[]> {
    return this.database.query<ObservedProvider>(
      'SELECT id, failing_since, last_error, last_error_at, models FROM provider_state WHERE id = ANY($1) AND seen_at IS NOT NULL',
      [names],
    );
  }

  /** Writes only what has changed, except for errors. */
  async record(observations: ProviderObservation[]): Promise<void> {
    await this.database.query(
      `INSERT INTO provider_state AS known (id, seen_at, failing_since, last_error, last_error_at, models)
       SELECT id, now(), CASE WHEN error IS NULL THEN NULL ELSE now() END, error,
         CASE WHEN error IS NULL THEN NULL ELSE now() END, models
       FROM jsonb_to_recordset($1::jsonb) AS given (id text, error text, models jsonb) ORDER BY id
       ON CONFLICT (id) DO UPDATE SET
         seen_at = excluded.seen_at,
         failing_since = CASE WHEN excluded.last_error IS NULL THEN NULL
           ELSE coalesce(known.failing_since, excluded.failing_since) END,
         last_error = coalesce(excluded.last_error, known.last_error),
         last_error_at = coalesce(excluded.last_error_at, known.last_error_at),
         models = coalesce(excluded.models, known.models)
       WHERE known.seen_at IS NULL OR known.failing_since IS NOT NULL OR excluded.last_error IS NOT NULL
         OR (excluded.models IS NOT NULL AND excluded.models IS DISTINCT FROM known.models)`,
      [JSON.stringify(observations.map(({ name: id, error, models }) => ({ id, error, models })))],
    );
  }

  async delete(tx: Transaction, name: string): Promise<void> {
    await tx.query('DELETE FROM provider_state WHERE id = $1', [name]);
  }

  /**
   * Token bucket (GCRA): takes the next free time of a call and returns the milliseconds until then. Takes none, and returns
   * undefined, if it would be later than `withinMs`.
   */
  async takeCall(
    name: string,
    { intervalMs, toleranceMs, withinMs }: { intervalMs: number; toleranceMs: number; withinMs: number },
  ): Promise<number | undefined> {
    const [row] = await this.database.query<{ wait: number }>(
      `INSERT INTO provider_state AS known (id, next_call_at)
       VALUES ($1, clock_timestamp() + make_interval(secs => $2))
       ON CONFLICT (id) DO UPDATE
         SET next_call_at = greatest(known.next_call_at, clock_timestamp()) + make_interval(secs => $2)
         WHERE known.next_call_at - make_interval(secs => $3) <= clock_timestamp() + make_interval(secs => $4)
       RETURNING (1000 * extract(epoch FROM
         next_call_at - make_interval(secs => $2) - make_interval(secs => $3) - clock_timestamp()))::float8 AS wait`,
      [name, intervalMs / 1_000, toleranceMs / 1_000, withinMs / 1_000],
    );
    return row && Math.max(0, Math.ceil(row.wait));
  }
}
