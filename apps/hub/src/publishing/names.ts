import { ApiError } from '@parley/contracts/errors';

const part = /^[a-z0-9][a-z0-9_.-]*$/i;

/**
 * Names are `name`, or `handle/name` with the handle of the workspace that publishes it. Throws InvalidPayload for one
 * that is neither and Forbidden for somebody else's handle.
 */
export function checkName(name: string, handle: string | null): void {
  const parts = name.split('/');
  if (parts.length > 2 || !parts.every((text) => part.test(text))) {
    throw new ApiError(
      'InvalidPayload',
      'name must be letters, digits, ".", "_" and "-", with the handle of the workspace and a slash before it or without.',
    );
  }
  const [owner] = parts;
  if (parts.length === 2 && owner !== handle) {
    const right = handle ? `"${handle}/${parts[1]}"` : 'a name without a slash, or give the workspace a handle first';
    throw new ApiError(
      'Forbidden',
      `name begins with "${owner}/", which is not the handle of this workspace: use ${right}.`,
    );
  }
}
