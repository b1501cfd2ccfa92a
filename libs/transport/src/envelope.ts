import { ApiError, type WireError } from '@parley/contracts/errors';
import type { Caller } from '@parley/contracts/caller';
import { isReplayed } from '@parley/contracts/replayed';
import { warningOf } from '@parley/contracts/warning';
import { JsonLines } from '@parley/background/json-lines';
import { JsonText, type Message, type RequestMessage } from './message';

const ok = 'ok';
const okAgain = 'replayed';
/** Followed by the warning as JSON. */
const okBut = 'warning ';
const failed = 'error';

export function requestMessage(caller: Caller, input: unknown): RequestMessage {
  const body = input instanceof JsonLines ? input : JSON.stringify(input ?? {});
  return { head: JSON.stringify(caller), body, tenant: tenantOf(caller) };
}

/** Tenant for fair queueing and quotas: the workspace, else the account. */
export function tenantOf({ workspace, bot, account, credential }: Caller): string {
  return workspace?.id ?? bot?.workspaceId ?? account?.id ?? credential;
}

export interface Request {
  caller: Caller;
  input: unknown;
}

/** Throws InvalidPayload for a malformed message. */
export function readCaller(head: string): Caller {
  try {
    return readObject(head) as unknown as Caller;
  } catch (error) {
    throw unreadable(error);
  }
}

/** Throws InvalidPayload for a malformed message. */
export function readInput(body: string): object {
  try {
    return readObject(body);
  } catch (error) {
    throw unreadable(error);
  }
}

/** Throws InvalidPayload for a malformed message. */
export async function readLines(body: JsonLines): Promise<object> {
  try {
    return await body.parse();
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(cause: unknown): ApiError {
  return new ApiError('InvalidPayload', 'The message on the bus is malformed: expected a caller and a JSON body.', {
    cause,
  });
}

export function answerMessage(output: unknown): Message {
  if (output instanceof JsonText) return { head: ok, body: output.text };
  const warning = warningOf(output);
  const head = warning === undefined ? ok : `${okBut}${JSON.stringify(warning)}`;
  return { head: isReplayed(output) ? okAgain : head, body: JSON.stringify(output ?? {}) };
}

/** Only an ApiError crosses the bus; any other error becomes Internal without its message. */
export function errorMessage(error: unknown): Message {
  const known = error instanceof ApiError ? error : new ApiError('Internal', 'Internal server error.');
  return { head: failed, body: wireText(known) };
}

export interface Reply {
  text: string;
  /** Whether this is the stored answer of an earlier request with the same idempotency key. */
  isReplayed: boolean;
  /** For the client, beside the answer. */
  warning?: string;
}

/** Throws the ApiError that an error message carries. */
export function readReply({ head, body }: Message): Reply {
  if (head === ok || head === okAgain) return { text: body, isReplayed: head === okAgain };
  if (head.startsWith(okBut))
    return { text: body, isReplayed: false, warning: JSON.parse(head.slice(okBut.length)) as string };
  throw ApiError.fromWire(readError(body));
}

/** Drops metadata that cannot be serialised, so that the caller still gets the error. */
function wireText(error: ApiError): string {
  const wireError = error.toWire();
  try {
    return JSON.stringify(wireError);
  } catch {
    return JSON.stringify({ ...wireError, metadata: undefined });
  }
}

function readError(body: string): WireError {
  try {
    return readObject(body) as unknown as WireError;
  } catch (error) {
    throw new ApiError('Internal', 'The answer on the bus is malformed: expected a JSON object.', { cause: error });
  }
}

function readObject(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new TypeError('Expected a JSON object.');
  return value as Record<string, unknown>;
}
