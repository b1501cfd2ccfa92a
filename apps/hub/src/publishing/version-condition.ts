import { ApiError } from '@parley/contracts/errors';
import { type Comparator, Range, SemVer, valid, validRange } from 'semver';
import { versionKey } from './version-key';

/**
 * SQL condition on `version_key` and `is_prerelease` for a version or a semver range; appends its parameters to
 * `values`. Throws InvalidQuery for anything else.
 */
export function versionCondition(versionOrRange: string, values: unknown[]): string {
  if (valid(versionOrRange) === versionOrRange) return `version_key = $${values.push(versionKey(versionOrRange))}`;
  if (validRange(versionOrRange) === null) {
    throw new ApiError(
      'InvalidQuery',
      'version must be a semver version, a range such as ">=1.0.0 <2.0.0", or latest.',
    );
  }
  const alternatives = new Range(versionOrRange).set.map((comparators) => allOf(comparators, values));
  return `(${alternatives.join(' OR ')})`;
}

function allOf(comparators: readonly Comparator[], values: unknown[]): string {
  const bounds = comparators.filter(({ semver }) => semver instanceof SemVer);
  const comparisons = bounds.map(
    ({ operator, semver }) => `version_key ${operator || '='} $${values.push(versionKey(semver.version))}`,
  );
  // As in semver, a pre-release matches only when a bound names a pre-release of the same release.
  const releases = bounds
    .filter(({ semver }) => semver.prerelease.length > 0)
    .map(({ semver }) => `starts_with(version_key, $${values.push(releasePart(semver))})`);
  return `(${[...comparisons, `(${['NOT is_prerelease', ...releases].join(' OR ')})`].join(' AND ')})`;
}

/** Common prefix of the keys of all pre-releases of a release. */
function releasePart({ major, minor, patch }: SemVer): string {
  return versionKey(`${major}.${minor}.${patch}-0`).split('-')[0]!;
}
