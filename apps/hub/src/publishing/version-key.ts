import { parse } from 'semver';

/**
 * Sort key that orders versions as semver does when compared byte by byte (`COLLATE "C"`): numbers padded to one width,
 * a pre-release before its release, a number before a word.
 */
export function versionKey(version: string): string {
  const { major, minor, patch, prerelease } = parse(version)!;
  const release = [major, minor, patch].map(padded).join('.');
  if (prerelease.length === 0) return `${release}~`;
  const parts = prerelease.map((part) => (typeof part === 'number' ? `0${padded(part)}` : `1${part}`));
  // A blank sorts before every character of a part: `beta` before `beta.1` before `beta1`.
  return `${release}-${parts.join(' ')}`;
}

export function isPrerelease(version: string): boolean {
  return parse(version)!.prerelease.length > 0;
}

/** Pads to 16 digits, the length of the largest safe integer. */
function padded(number: number): string {
  return String(number).padStart(16, '0');
}
