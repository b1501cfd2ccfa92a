import { ApiError } from '@parley/contracts/errors';
import { maxSatisfying, valid, validRange } from 'semver';

/** Throws InvalidPayload unless the version is a full semver one, such as `1.0.2` or `2.0.0-beta.1`. */
export function checkVersion(version: string): void {
  if (valid(version) !== version) {
    throw new ApiError('InvalidPayload', 'version must be a semver version such as 1.0.2.');
  }
}

/** True for what names one version at most: neither `latest` nor a range. */
export function isExact(wanted: string): boolean {
  return valid(wanted) === wanted;
}

/**
 * The version that `latest`, a range such as `>=1.0.0 <2.0.0` or an exact version means; undefined when none does.
 * `latest` is the highest that is no pre-release.
 */
export function pickVersion(versions: string[], wanted: string): string | undefined {
  if (wanted !== 'latest' && versions.includes(wanted)) return wanted;
  if (wanted === 'latest') return maxSatisfying(versions, '*') ?? undefined;
  return validRange(wanted) === null ? undefined : (maxSatisfying(versions, wanted) ?? undefined);
}
