import type { Transaction } from '@parley/database/database';

type Place = (string | null)[];
type Texts = Record<string, string>;

/** Until the transaction ends, nobody else makes something with these tags in this place. */
export function lockTags(tx: Transaction, place: Place, tags: Texts): Promise<void> {
  return lockAllTags(tx, [[place, tags]]);
}

/** The same for many in one statement, whose order is that of all who lock many: so nobody waits in a circle. */
export async function lockAllTags(tx: Transaction, wanted: [Place, Texts][]): Promise<void> {
  await tx.query(
    `SELECT pg_advisory_xact_lock(key) FROM (
       SELECT DISTINCT hashtextextended(name, 0) AS key FROM unnest($1::text[]) AS name ORDER BY key OFFSET 0) AS named`,
    [wanted.map(([place, tags]) => nameOf(place, tags))],
  );
}

function nameOf(place: Place, tags: Texts): string {
  const entries = Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1));
  return `chat.tags:${JSON.stringify([place, entries])}`;
}
