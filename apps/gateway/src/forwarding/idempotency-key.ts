import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '@parley/contracts/errors';

export const idempotencyHeader = 'idempotency-key';
export const maxKeyLength = 255;

const key = new RegExp(`^[\\x20-\\x7e]{1,${maxKeyLength}}$`);

/** Undefined without the header. Throws InvalidPayload. */
export function readIdempotencyKey({ [idempotencyHeader]: value }: IncomingHttpHeaders): string | undefined {
  if (value === undefined || (typeof value === 'string' && key.test(value))) return value;
  throw new ApiError(
    'InvalidPayload',
    `The header Idempotency-Key must have 1 to ${maxKeyLength} printable ASCII characters, such as a new UUID for each thing to create.`,
  );
}
