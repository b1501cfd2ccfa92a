import { parse } from 'semver';

/**
 * Text that orders versions as semver does when it is compared byte by byte (`COLLATE "C"`): numbers padded to one
 * width, a pre-release before its release, a number before a word.
 */
export function versionKey(version: string): string {
  const { major, minor, patch, prerelease } = parse(version)!;
  const release = [major, minor, patch].map(padded).join('.');
  if (prerelease.length === 0) return `${release}~`;
  const parts = prerelease.map((part) => (typeof part === 'number' ? `0${padded(part)}` : `1${part}`));
  // A blank is less than any character of a part, so that `beta` comes before `beta.1` and that before `beta1`.
  return `${release}-${parts.join(' ')}`;
}

export function isPrerelease(version: string): boolean {
  return parse(version)!.prerelease.length > 0;
}

/** Sixteen digits: all that a safe integer has. */
function padded(number: number): string {
  return String(number).padStart(16, '0');
}
