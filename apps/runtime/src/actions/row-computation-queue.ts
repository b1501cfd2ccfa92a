import { createHash } from 'node:crypto';
import type { ComputationRequested } from '@parley/contracts/tables/computations';
import { type NewWork, queue } from '@parley/work-queue/queue';

export interface RowComputation extends ComputationRequested {
  /** One of several rows that failed together: it is tried once. */
  isAlone?: boolean;
}

/** Rows of a table that the bot computes in one call. */
export const rowComputations = queue<RowComputation>('runtime.rowComputations');

/** The key names the rows: a request that is repeated while it waits is not added again. */
export function toRowComputation(request: RowComputation): NewWork<RowComputation> {
  const rows = request.rows.map(({ row, version }) => `${row.id}/${version}`).join();
  const digest = createHash('sha256').update(rows).digest('base64url');
  return { key: `${request.tableId}/${digest}`, tenant: request.botId, payload: request };
}
