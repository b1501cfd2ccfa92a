import { ApiError } from '@parley/contracts/errors';
import { maxSatisfying, valid, validRange } from 'semver';

/** Throws InvalidPayload unless the version is a complete semver version, such as `1.0.2` or `2.0.0-beta.1`. */
export function checkVersion(version: string): void {
  if (valid(version) !== version) {
    throw new ApiError('InvalidPayload', 'version must be a semver version such as 1.0.2.');
  }
}

/** True for a single version: neither `latest` nor a range. */
export function isExact(versionOrRange: string): boolean {
  return valid(versionOrRange) === versionOrRange;
}

/** True for a version, a range or `latest`. */
export function isRange(text = 'latest'): boolean {
  return text === 'latest' || validRange(text) !== null;
}

/**
 * Finds the highest match for `latest`, a range such as `>=1.0.0 <2.0.0`, or an exact version; undefined without a
 * match. `latest` excludes pre-releases.
 */
export function pickVersion(versions: string[], versionOrRange: string): string | undefined {
  if (versionOrRange !== 'latest' && versions.includes(versionOrRange)) return versionOrRange;
  if (versionOrRange === 'latest') return maxSatisfying(versions, '*') ?? undefined;
  return validRange(versionOrRange) === null ? undefined : (maxSatisfying(versions, versionOrRange) ?? undefined);
}
