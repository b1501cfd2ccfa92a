import { DatabaseError } from 'pg';
import { unavailable } from '@parley/contracts/errors';

/** SQLSTATE classes and codes that say "not now": connection lost, too many connections, shutting down, lock or statement cancelled. */
const transientCodes = /^(08|53|57P|57014|55P03|25P03|40001|40P01)/;
const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);
/** What `pg` and `pg-pool` throw without a code when a connection breaks or none becomes free in time. */
const brokenConnection =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Cannot use a pool after/i;

/** Turns "the database does not answer" into a 503 that clients may repeat; leaves every other error as it is. */
export function toApiError(error: unknown): unknown {
  return isUnavailable(error) ? unavailable('The database does not answer. Try again in a moment.', error) : error;
}

export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return error instanceof DatabaseError && error.code === '23505' && (!constraint || error.constraint === constraint);
}

function isUnavailable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return transientCodes.test(code) || networkCodes.has(code) || brokenConnection.test(message);
}
