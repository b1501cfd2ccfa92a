import { ApiError, type WireError } from '@parley/contracts/errors';
import type { Caller } from '@parley/contracts/caller';
import { isReplayed } from '@parley/contracts/replayed';
import { JsonBytes, type Message, type RequestMessage } from './message';

const ok = 'ok';
const okAgain = 'replayed';
const failed = 'error';

/** A request; its head says who asks. */
export function requestMessage(caller: Caller, input: unknown): RequestMessage {
  const body = input instanceof JsonBytes ? input.bytes : JSON.stringify(input ?? {});
  return { head: JSON.stringify(caller), body, tenant: tenantOf(caller) };
}

/** Whose share of what is scarce a caller takes. */
export function tenantOf({ workspace, bot, account, credential }: Caller): string {
  return workspace?.id ?? bot?.workspaceId ?? account?.id ?? credential;
}

export interface Request {
  caller: Caller;
  input: unknown;
}

/** Throws InvalidPayload for a message that nobody of ours has sent. */
export function readRequest({ head, body }: Message): Request {
  try {
    return { caller: readObject(head) as unknown as Caller, input: readObject(body) };
  } catch (error) {
    throw unreadable(error);
  }
}

/** Throws InvalidPayload. */
export function readCaller(head: string): Caller {
  try {
    return readObject(head) as unknown as Caller;
  } catch (error) {
    throw unreadable(error);
  }
}

export function unreadable(cause: unknown): ApiError {
  return new ApiError('InvalidPayload', 'The message on the bus cannot be read: it needs a caller and a JSON body.', {
    cause,
  });
}

export function answerMessage(output: unknown): Message {
  return { head: isReplayed(output) ? okAgain : ok, body: JSON.stringify(output ?? {}) };
}

/** Only what an ApiError says crosses the bus; anything else becomes Internal without its message. */
export function errorMessage(error: unknown): Message {
  const known = error instanceof ApiError ? error : new ApiError('Internal', 'Something went wrong on our side.');
  return { head: failed, body: wireText(known) };
}

export interface Answered {
  /** The output as the JSON text that the service wrote. */
  text: string;
  /** It is what an earlier request with the same idempotency key was answered. */
  isReplayed: boolean;
}

/** Throws the ApiError that was sent in place of an output. */
export function readAnswer({ head, body }: Message): Answered {
  if (head === ok || head === okAgain) return { text: body, isReplayed: head === okAgain };
  throw ApiError.fromWire(readError(body));
}

/** Metadata that is not JSON must not cost the caller the error itself. */
function wireText(error: ApiError): string {
  const wire = error.toWire();
  try {
    return JSON.stringify(wire);
  } catch {
    return JSON.stringify({ ...wire, metadata: undefined });
  }
}

function readError(body: string): WireError {
  try {
    return readObject(body) as unknown as WireError;
  } catch (error) {
    throw new ApiError('Internal', 'The answer on the bus cannot be read.', { cause: error });
  }
}

function readObject(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new TypeError('A JSON object is needed.');
  return value as Record<string, unknown>;
}
