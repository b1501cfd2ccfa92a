import { ApiError } from '@parley/contracts/errors';

interface Discriminated {
  tags: Record<string, string | null>;
  discriminateByTags?: string[];
}

/** The tags that tell whether something is there already: all that are given, or those that are named. May be none. */
export function discriminatingTags({ tags, discriminateByTags }: Discriminated): Record<string, string> {
  const names = discriminateByTags ?? Object.keys(tags).filter((name) => isGiven(tags[name]));
  const missing = names.filter((name) => !isGiven(tags[name]));
  if (missing.length > 0)
    throw new ApiError(
      'InvalidPayload',
      `discriminateByTags names "${missing.join('", "')}", which tags must then give a value.`,
    );
  return Object.fromEntries(names.map((name) => [name, tags[name]!]));
}

function isGiven(value: string | null | undefined): boolean {
  return value !== undefined && value !== null && value !== '';
}
