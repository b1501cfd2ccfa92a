import { Injectable } from '@nestjs/common';
import { Database, type Transaction } from '@parley/persistence/database';
import { Every } from '@parley/work-queue/worker';
import { snapshotHours } from './snapshot';

/** `valid_to` of current rows: the largest bigint. */
const open = '9223372036854775807';

/**
 * Joins the current counters to `integration`: `installs` and `views` are NULL for an integration without installs and
 * views.
 */
export const joinCurrentCounter = `LEFT JOIN integration_counter counter
  ON counter.integration_id = integration.id AND counter.valid_to = ${open}`;

/**
 * Joins the counters at a time of the logical clock `counter_clock`. All changes up to the clock's current time are
 * committed.
 */
export function joinCounterAt(time: string): string {
  return `LEFT JOIN integration_counter counter ON counter.integration_id = integration.id
    AND counter.valid_from <= ${time} AND counter.valid_to > ${time}`;
}

export interface CountChange {
  integrationId: string;
  installs?: number;
  views?: number;
}

@Injectable()
export class CountersRepository {
  constructor(private readonly database: Database) {}

  /**
   * Versioned counters: closes the current rows, which lists being paged still read, and inserts new ones. Skips
   * deleted versions.
   */
  async addCounts(tx: Transaction, counted: CountChange[]): Promise<void> {
    if (counted.length === 0) return;
    const [clock] = await tx.query<{ time: string }>('UPDATE counter_clock SET time = time + 1 RETURNING time');
    await tx.query(
      `WITH counted AS (
         SELECT entry.* FROM unnest($2::text[], $3::int[], $4::int[]) AS entry (integration_id, installs, views)
         JOIN integration ON integration.id = entry.integration_id FOR KEY SHARE OF integration
       ), closed AS (
         UPDATE integration_counter counter SET valid_to = $1, closed_at = now() FROM counted
         WHERE counter.integration_id = counted.integration_id AND counter.valid_to = ${open}
         RETURNING counter.*
       )
       INSERT INTO integration_counter (integration_id, installs, views, valid_from)
       SELECT integration_id, coalesce(closed.installs, 0) + counted.installs,
         coalesce(closed.views, 0) + counted.views, $1
       FROM counted LEFT JOIN closed USING (integration_id)`,
      [
        clock!.time,
        counted.map(({ integrationId }) => integrationId),
        counted.map(({ installs = 0 }) => installs),
        counted.map(({ views = 0 }) => views),
      ],
    );
  }

  async addViews(views: ReadonlyMap<string, number>): Promise<void> {
    const counted = [...views].map(([integrationId, count]) => ({ integrationId, views: count }));
    await this.database.transaction((tx) => this.addCounts(tx, counted));
  }

  /** Deletes closed rows that no pagination needs any more; keeps them one hour longer, to allow for clock skew. */
  @Every({ name: 'hub.closedCounters', everyMs: 600_000 })
  async deleteClosed(): Promise<void> {
    await this.database.query("DELETE FROM integration_counter WHERE closed_at < now() - $1 * interval '1 hour'", [
      snapshotHours + 1,
    ]);
  }
}
