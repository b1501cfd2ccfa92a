import { ApiError } from '@parley/contracts/errors';

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
