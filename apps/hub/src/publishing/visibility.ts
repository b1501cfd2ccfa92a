import type { Visibility } from '@parley/contracts/hub/publication';

export function mayPublish(change: { visibility?: Visibility; public?: boolean }): boolean {
  return visibilityAfter('private', change) !== 'private';
}

/**
 * `visibility` takes precedence over the `public` of older clients, where false makes a public version private and
 * keeps others.
 */
export function visibilityAfter(
  current: Visibility,
  { visibility, public: isPublic }: { visibility?: Visibility; public?: boolean },
): Visibility {
  if (visibility) return visibility;
  if (isPublic === undefined) return current;
  if (isPublic) return 'public';
  return current === 'public' ? 'private' : current;
}
