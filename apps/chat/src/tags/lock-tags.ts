import type { Transaction } from '@parley/database/database';

/** Until the transaction ends, nobody else makes something with these tags in this place. */
export async function lockTags(tx: Transaction, place: (string | null)[], tags: Record<string, string>): Promise<void> {
  const entries = Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1));
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [
    `chat.tags:${JSON.stringify([place, entries])}`,
  ]);
}
