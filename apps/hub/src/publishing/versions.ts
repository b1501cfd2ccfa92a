import { ApiError } from '@parley/contracts/errors';
import { maxSatisfying, valid, validRange } from 'semver';

/** Throws InvalidPayload unless the version is a complete semver version, such as `1.0.2` or `2.0.0-beta.1`. */
export function checkVersion(version: string): void {
  if (valid(version) !== version) {
    throw new ApiError('InvalidPayload', 'version must be a semver version such as 1.0.2.');
  }
}

/** True for a single version: neither `latest` nor a range. */
export function isExact(wanted: string): boolean {
  return valid(wanted) === wanted;
}

/**
 * Finds the highest match for `latest`, a range such as `>=1.0.0 <2.0.0`, or an exact version; undefined without a
 * match. `latest` excludes pre-releases.
 */
export function pickVersion(versions: string[], wanted: string): string | undefined {
  if (wanted !== 'latest' && versions.includes(wanted)) return wanted;
  if (wanted === 'latest') return maxSatisfying(versions, '*') ?? undefined;
  return validRange(wanted) === null ? undefined : (maxSatisfying(versions, wanted) ?? undefined);
}
