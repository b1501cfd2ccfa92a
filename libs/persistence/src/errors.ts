import { DatabaseError } from 'pg';
import { ApiError, unavailable, WritesRefused } from '@parley/contracts/errors';

/** Transient SQLSTATE classes and codes: connection lost, too many connections, shutdown, or one of `ended`. */
const transientCodes = /^(08|53|57P|57014|55P03|25P03|40001|40P01)/;
/** Messages for statements or transactions that a healthy Postgres ended. */
const stopped =
  'The database statement exceeded its time limit and was cancelled. Try again in a moment, or request less data.';
const locked = 'Another request is changing the same data. Try again in a moment.';
const ended: Record<string, string> = { '57014': stopped, '55P03': locked, '40P01': locked, '40001': locked };

/** Disk full, or a read-only server: a standby, or a server whose operator made it read-only as its disk filled. */
const refusedWrites = /^(53100|25006)$/;
/** File system errors, whose SQLSTATE differs between versions of Postgres. */
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
/** Errors without a code from `pg` and `pg-pool`: a broken connection, no answer or no free connection in time. */
const brokenConnection =
  /Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|is not queryable|Cannot use a pool after/i;

/** Error of `pg` for a statement on a connection that is known to be broken. */
const neverSent = /is not queryable/;

/** Start failure: names host, port and reason, never the password. */
export class CannotConnect extends Error {
  constructor(url: string, cause: unknown) {
    const { hostname, port } = new URL(url);
    // A host with several addresses that all refuse results in a code without a message.
    const { message, code } = cause as NodeJS.ErrnoException;
    super(
      `Cannot connect to the Postgres of DATABASE_URL at ${hostname || 'localhost'}:${port || 5432}: ${message || (code ?? String(cause))}.`,
      { cause },
    );
  }
}

/** Maps transient errors to a 503 with the reason; returns other errors unchanged. */
export function toApiError(error: unknown): unknown {
  if (isRefusedWrite(error)) return new WritesRefused('The database', error);
  if (!isUnavailable(error)) return error;
  const reason = error instanceof DatabaseError ? ended[error.code ?? ''] : undefined;
  return unavailable(reason ?? 'The database does not answer. Try again in a moment.', error);
}

/** Maps errors of statements that commit: without an error from Postgres itself, the change may have been committed. */
export function toUnknownOutcome(error: unknown): unknown {
  if (!isUnavailable(error) || error instanceof DatabaseError || neverSent.test((error as Error).message))
    return toApiError(error);
  return new ApiError(
    'OperationTimeout',
    'The database did not answer. The change may have been committed: check before you try again.',
    { cause: error },
  );
}

/** True when the connection may still run a statement: a 503 or an OperationTimeout of the functions above. */
export function isUnsettled(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 503 || error.type === 'OperationTimeout');
}

export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return error instanceof DatabaseError && error.code === '23505' && (!constraint || error.constraint === constraint);
}

export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '23503';
}

export function isOutOfRange(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '22003';
}

/** True when the statement exceeded its timeout. */
export function isStopped(error: unknown): boolean {
  return error instanceof ApiError && error.cause instanceof DatabaseError && error.cause.code === '57014';
}

/** True when Postgres has reached its connection limit. */
export function hasNoRoom(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '53300';
}

/**
 * Error text of Postgres for an invalid regular expression; undefined for other errors. Since Postgres 16, an
 * expression that needs more than 1 GB of memory is an internal error, thrown when it is compiled or matched.
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
