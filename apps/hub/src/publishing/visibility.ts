import type { Visibility } from '@parley/contracts/hub/publication';

/** The change may make something seen by others that was not. */
export function mayPublish(change: { visibility?: Visibility; public?: boolean }): boolean {
  return visibilityAfter('private', change) !== 'private';
}

/** `visibility` wins over what older clients say: not public is private, unless it is unlisted. */
export function visibilityAfter(
  current: Visibility,
  { visibility, public: isPublic }: { visibility?: Visibility; public?: boolean },
): Visibility {
  if (visibility) return visibility;
  if (isPublic === undefined) return current;
  if (isPublic) return 'public';
  return current === 'public' ? 'private' : current;
}
