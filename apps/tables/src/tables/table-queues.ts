import type { Transaction } from '@parley/persistence/database';
import { queue } from '@parley/work-queue/queue';
import type { WorkQueue } from '@parley/work-queue/work-queue.service';
import { addReadyWork } from '@parley/work-queue/work-statements';
import type { WorkKind } from '../schema/dirty-flags';

/** Table numbers with stale rows. */
export const computeRows = queue('tables.compute', { repeated: 'again' });
/** Tables with `ai` columns, which `computeRows` hands on: they have workers of their own, because the model can be slow. */
export const computeRowsByModel = queue('tables.computeByModel', { repeated: 'again' });
/** Table numbers with rows that differ from the passage index. */
export const indexRows = queue('tables.index', { repeated: 'again' });
/** Numbers of deleted and emptied tables, whose rows are inaccessible and wait for deletion. */
export const eraseRows = queue('tables.erasure');

const queues = { compute: computeRows.name, index: indexRows.name };

export function wakeAfterCommit(tx: Transaction, queue: WorkQueue, work: WorkKind[]): void {
  tx.afterCommit(() => work.forEach((kind) => queue.wake(queues[kind])));
}

/**
 * SQL that adds a table to queues, as the CTE `queued` of the statement that writes its rows. Empty without work. Names
 * of queues are literals, since a prepared statement with an array of them would be planned each time.
 * @param number placeholder
 * @param botId placeholder
 * @param from CTE of one row; nothing is added when it is empty
 */
export function queuedWork(work: WorkKind[], number: string, botId: string, from: string): string {
  if (work.length === 0) return '';
  const names = work.map((kind) => `('${queues[kind]}')`).join(', ');
  return `, queued AS (${addReadyWork(
    `SELECT queue, ${number}::text AS key, ${botId}::text AS tenant, 'null'::jsonb AS payload FROM ${from}, (VALUES ${names}) AS kind (queue)`,
  )})`;
}
