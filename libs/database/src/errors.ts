import { DatabaseError } from 'pg';
import { ApiError, unavailable, WritesRefused } from '@parley/contracts/errors';

/** SQLSTATE classes and codes that say "not now": connection lost, too many connections, shutting down, or one of `ended`. */
const transientCodes = /^(08|53|57P|57014|55P03|25P03|40001|40P01)/;
/** What Postgres says when it is well, and only this statement or transaction was ended. */
const stopped = 'The database stopped this, since it took longer than it may. Try again in a moment, or ask for less.';
const locked = 'Another request is changing the same data just now. Try again in a moment.';
const ended: Record<string, string> = { '57014': stopped, '55P03': locked, '40P01': locked, '40001': locked };

/** The disk is full, or the server takes no writes: a standby, or one that its operator made read-only as its disk filled. */
const refusedWrites = /^(53100|25006)$/;
/** Of a file system without room, under codes that differ from one Postgres to the next. */
const fileRefused = /: (No space left on device|Disk quota exceeded|Read-only file system)$/;

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
/** What `pg` and `pg-pool` throw without a code when a connection breaks, or no answer or no free connection comes in time. */
const brokenConnection =
  /Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|is not queryable|Cannot use a pool after/i;

/** What `pg` throws for a statement on a connection that it knows to be broken. */
const neverSent = /is not queryable/;

/** The database cannot be used at a start. Says where it was looked for and why, and never with which password. */
export class CannotConnect extends Error {
  constructor(url: string, cause: unknown) {
    const { hostname, port } = new URL(url);
    // Of a host with several addresses that all refuse, there is a code and no message.
    const { message, code } = cause as NodeJS.ErrnoException;
    super(
      `The Postgres of DATABASE_URL, ${hostname || 'localhost'}:${port || 5432}, cannot be used: ${message || (code ?? String(cause))}.`,
      { cause },
    );
  }
}

/** Turns what may go well another time into a 503 that says why it did not; leaves every other error as it is. */
export function toApiError(error: unknown): unknown {
  if (isRefusedWrite(error)) return new WritesRefused('The database', error);
  if (!isUnavailable(error)) return error;
  const reason = error instanceof DatabaseError ? ended[error.code ?? ''] : undefined;
  return unavailable(reason ?? 'The database does not answer. Try again in a moment.', error);
}

/** The same for what commits. Unless Postgres itself says what is wrong, it may have been done and only the answer be lost. */
export function toUnknownOutcome(error: unknown): unknown {
  if (!isUnavailable(error) || error instanceof DatabaseError || neverSent.test((error as Error).message))
    return toApiError(error);
  return new ApiError(
    'OperationTimeout',
    'The database did not answer. It may have done what was asked for: look before you try again.',
    { cause: error },
  );
}

/** Whether the error leaves open what its connection is doing: either of the two above. */
export function isUnsettled(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 503 || error.type === 'OperationTimeout');
}

export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return error instanceof DatabaseError && error.code === '23505' && (!constraint || error.constraint === constraint);
}

export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '23503';
}

/** A number that its column cannot hold. */
export function isOutOfRange(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '22003';
}

/** Whether the statement took longer than it may. */
export function isStopped(error: unknown): boolean {
  return error instanceof ApiError && error.cause instanceof DatabaseError && error.cause.code === '57014';
}

/** Whether Postgres has as many connections as it takes. */
export function hasNoRoom(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '53300';
}

/**
 * What Postgres says of a regular expression that it does not take; undefined for every other error. Since Postgres 16 one
 * that needs more than 1 GB of memory is an internal error, which is thrown as it is compiled or as it meets a text.
 */
export function expressionProblem(error: unknown): string | undefined {
  if (!(error instanceof DatabaseError)) return undefined;
  if (error.code === '2201B') return error.message;
  const isTooLarge = error.code === 'XX000' && error.message.startsWith('invalid memory alloc request size');
  return isTooLarge ? 'the expression is too complex' : undefined;
}

function isRefusedWrite(error: unknown): boolean {
  return error instanceof DatabaseError && (refusedWrites.test(error.code ?? '') || fileRefused.test(error.message));
}

function isUnavailable(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return transientCodes.test(code) || networkCodes.has(code) || brokenConnection.test(message);
}
