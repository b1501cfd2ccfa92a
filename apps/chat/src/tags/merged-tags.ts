import { maxPropertiesBytes, maxTagsInAll } from '@parley/contracts/chat/chat-fields';
import { ApiError } from '@parley/contracts/errors';

type Texts = Record<string, string>;
type Changes = Record<string, string | null>;

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
