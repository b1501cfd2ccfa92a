import type { Transaction } from '@parley/persistence/database';

type LockScope = (string | null)[];
type Texts = Record<string, string>;

/** Advisory lock until the end of the transaction: nobody else creates an object with these tags in this scope. */
export function lockTags(tx: Transaction, scope: LockScope, tags: Texts): Promise<void> {
  return lockAllTags(tx, [[scope, tags]]);
}

/** Takes several advisory locks in one statement, sorted by key so that transactions cannot deadlock. */
export async function lockAllTags(tx: Transaction, locks: [LockScope, Texts][]): Promise<void> {
  await tx.query(
    `SELECT pg_advisory_xact_lock(key) FROM (
       SELECT DISTINCT hashtextextended(name, 0) AS key FROM unnest($1::text[]) AS name ORDER BY key OFFSET 0) AS named`,
    [locks.map(([scope, tags]) => nameOf(scope, tags))],
  );
}

function nameOf(scope: LockScope, tags: Texts): string {
  const entries = Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1));
  return `chat.tags:${JSON.stringify([scope, entries])}`;
}
