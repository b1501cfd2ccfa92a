import type { ErrorBody } from '@parley/contracts/errors';

export interface ShownError {
  message: string;
  /** Also in the log line of the failure. */
  id?: string;
  code?: number;
}

/** Message of the platform; the public client keeps its fields on the error. */
export function apiErrorOf(error: unknown): ShownError {
  if (!(error instanceof Error)) return { message: String(error) };
  const { message, id, code } = error as Error & { id?: unknown; code?: unknown };
  return {
    message,
    id: typeof id === 'string' ? id : undefined,
    code: typeof code === 'number' ? code : undefined,
  };
}

/** Error of an answer that the public client has not read. */
export function errorOf({ message, id, code }: ErrorBody): Error {
  return Object.assign(new Error(message), { id, code });
}
