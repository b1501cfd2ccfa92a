import { ApiError } from '@parley/contracts/errors';

const part = /^[a-z0-9][a-z0-9_.-]*$/i;

/**
 * Validates a name: `name`, or `handle/name` with the handle of the publishing workspace. Throws InvalidPayload for
 * another form and Forbidden for another handle.
 */
export function checkName(name: string, handle: string | null): void {
  const parts = name.split('/');
  if (parts.length > 2 || !parts.every((text) => part.test(text))) {
    throw new ApiError(
      'InvalidPayload',
      'name must be letters, digits, ".", "_" and "-", optionally after the handle of the workspace and a slash.',
    );
  }
  const [owner] = parts;
  if (parts.length === 2 && owner !== handle) {
    const right = handle ? `"${handle}/${parts[1]}"` : 'a name without a slash, or give the workspace a handle first';
    throw new ApiError('Forbidden', `name: "${owner}/" is not the handle of this workspace. Use ${right}.`);
  }
}
