import { maxPropertiesBytes, maxTagsInAll } from '@parley/contracts/chat/chat-fields';
import { ApiError } from '@parley/contracts/errors';

type Texts = Record<string, string>;
type Changes = Record<string, string | null>;

/**
 * What is there with the changes: `null` and an empty text remove an entry. The bare ones, and those of each prefix, are
 * counted by themselves: so an integration and the bot leave each other room.
 */
export function mergedTags(stored: Texts, changes: Changes, maxEntries: number): Texts {
  const tags = merged(stored, changes, (value) => value === null || value === '');
  const names = Object.keys(tags);
  const counts = new Map<string, number>();
  for (const prefix of names.map(prefixOf)) counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  if (names.length > maxTagsInAll || Math.max(0, ...counts.values()) > maxEntries)
    throw new ApiError(
      'InvalidPayload',
      `tags must have at most ${maxEntries} entries of the bot, as many of each prefix, and ${maxTagsInAll} in all, those that are there included.`,
    );
  return tags;
}

/** What is there with the changes: `null` removes an entry. */
export function mergedProperties(stored: Texts, changes: Changes, maxEntries: number): Texts {
  const properties = merged(stored, changes, (value) => value === null);
  if (Object.keys(properties).length > maxEntries)
    throw new ApiError(
      'InvalidPayload',
      `properties must have at most ${maxEntries} entries, those that are there included.`,
    );
  if (Buffer.byteLength(JSON.stringify(properties)) > maxPropertiesBytes)
    throw new ApiError(
      'InvalidPayload',
      `properties must be at most ${maxPropertiesBytes} bytes of JSON together, those that are there included.`,
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

/** Of `alias:name` the alias; empty for a bare name. */
function prefixOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf(':')));
}
