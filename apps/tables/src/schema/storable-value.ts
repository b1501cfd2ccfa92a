import { toText } from '@parley/persistence/storable';
import { maxLevels } from '../sandbox/nesting';

/**
 * Converts a value to what Postgres can store: NUL and unpaired surrogates become U+FFFD. Returns a problem, as a
 * predicate without a subject, for a value that cannot be stored. Fast path: valid values are returned unchanged.
 */
export function toStorable(value: unknown): { value: unknown } | { problem: string } {
  if (isStorable(value, maxLevels)) return { value };
  const problem = problemOf(value, maxLevels);
  return problem === undefined ? { value: withoutBrokenText(value) } : { problem };
}

function isStorable(value: unknown, levels: number): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  if (Array.isArray(value)) return value.every((entry) => isStorable(entry, levels - 1));
  return Object.entries(value).every(([name, entry]) => isStorableText(name) && isStorable(entry, levels - 1));
}

function isStorableText(text: string): boolean {
  return toText(text) === text;
}

function problemOf(value: unknown, levels: number): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'contains a number that is too large';
  if (typeof value !== 'object' || value === null) return undefined;
  if (levels === 0) return `is nested more than ${maxLevels} levels deep`;
  for (const entry of Object.values(value)) {
    const problem = problemOf(entry, levels - 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function withoutBrokenText(value: unknown): unknown {
  if (typeof value === 'string') return toText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutBrokenText);
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [toText(name), withoutBrokenText(entry)]));
}
