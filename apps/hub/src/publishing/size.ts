import { ApiError } from '@parley/contracts/errors';

const maxBytes = 4 * 1024 * 1024;

/** Throws LimitExceeded when the parts of a definition together exceed the size limit of a reply. */
export function checkSize(...parts: object[]): void {
  const bytes = parts.reduce((sum, part) => sum + Buffer.byteLength(JSON.stringify(part)), 0);
  if (bytes <= maxBytes) return;
  throw new ApiError(
    'LimitExceeded',
    `The definition must have at most ${maxBytes} bytes of JSON, all its parts together, and would have ${bytes}.`,
  );
}
