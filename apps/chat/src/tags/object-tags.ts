import { maxPropertiesBytes, maxTagsInAll } from '@parley/contracts/chat/chat-fields';
import { ApiError } from '@parley/contracts/errors';
import type { Transaction } from '@parley/persistence/database';

type Texts = Record<string, string>;
type Changes = Record<string, string | null>;
type LockScope = (string | null)[];

/**
 * Merges tags; `null` and the empty string remove one. The limit applies to names without a prefix and to each prefix
 * separately, so that the bot and its integrations cannot use up each other's quota.
 */
export function mergedTags(stored: Texts, changes: Changes, maxEntries: number): Texts {
  const tags = merged(stored, changes, (value) => value === null || value === '');
  const names = Object.keys(tags);
  const counts = new Map<string, number>();
  for (const prefix of names.map(prefixOf)) counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  if (names.length > maxTagsInAll || Math.max(0, ...counts.values()) > maxEntries)
    throw new ApiError(
      'InvalidPayload',
      `tags must have at most ${maxEntries} entries without a prefix, ${maxEntries} per prefix and ${maxTagsInAll} in total, including stored ones.`,
    );
  return tags;
}

export function mergedProperties(stored: Texts, changes: Changes, maxEntries: number): Texts {
  const properties = merged(stored, changes, (value) => value === null);
  if (Object.keys(properties).length > maxEntries)
    throw new ApiError('InvalidPayload', `properties must have at most ${maxEntries} entries, including stored ones.`);
  if (Buffer.byteLength(JSON.stringify(properties)) > maxPropertiesBytes)
    throw new ApiError(
      'InvalidPayload',
      `properties must be at most ${maxPropertiesBytes} bytes of JSON in total, including stored ones.`,
    );
  return properties;
}

function merged(stored: Texts, changes: Changes, removes: (value: string | null) => boolean): Texts {
  const entries = new Map(Object.entries(stored));
  for (const [name, value] of Object.entries(changes)) {
    if (removes(value)) entries.delete(name);
    else entries.set(name, value!);
  }
  return Object.fromEntries(entries);
}

function prefixOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf(':')));
}

interface Discriminated {
  tags: Record<string, string | null>;
  discriminateByTags?: string[];
}

/** Tags that identify an existing object: those in discriminateByTags, or by default all with a value. May be empty. */
export function discriminatingTags({ tags, discriminateByTags }: Discriminated): Record<string, string> {
  const names = discriminateByTags ?? Object.keys(tags).filter((name) => isGiven(tags[name]));
  const missing = names.filter((name) => !isGiven(tags[name]));
  if (missing.length > 0)
    throw new ApiError(
      'InvalidPayload',
      `discriminateByTags names "${missing.join('", "')}" without a value in tags. Give each named tag a value.`,
    );
  return Object.fromEntries(names.map((name) => [name, tags[name]!]));
}

function isGiven(value: string | null | undefined): boolean {
  return value !== undefined && value !== null && value !== '';
}

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
