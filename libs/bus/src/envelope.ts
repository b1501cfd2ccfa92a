import { ApiError, type WireError } from '@parley/contracts/errors';
import type { Caller } from '@parley/contracts/caller';
import type { Message } from './transport';

const callerHeader = 'parley-caller';
const timeoutHeader = 'parley-timeout-ms';
const outcomeHeader = 'parley-outcome';

/** A request with who asks and how long they wait. */
export function requestMessage(caller: Caller, timeoutMs: number, input: unknown): Message {
  return {
    headers: {
      [callerHeader]: Buffer.from(JSON.stringify(caller)).toString('base64url'),
      [timeoutHeader]: String(timeoutMs),
    },
    body: JSON.stringify(input ?? {}),
  };
}

export interface Request {
  caller: Caller;
  input: unknown;
}

/** Throws InvalidPayload for a message that nobody of ours has sent. */
export function readRequest({ headers, body }: Message): Request {
  try {
    const caller = JSON.parse(Buffer.from(headers[callerHeader] ?? '', 'base64url').toString()) as Caller;
    return { caller, input: JSON.parse(body) };
  } catch (error) {
    throw new ApiError('InvalidPayload', 'The message on the bus cannot be read: it needs a caller and a JSON body.', {
      cause: error,
    });
  }
}

export function answerMessage(output: unknown): Message {
  return { headers: { [outcomeHeader]: 'ok' }, body: JSON.stringify(output ?? {}) };
}

/** Only what an ApiError says crosses the bus; anything else becomes Internal without its message. */
export function errorMessage(error: unknown): Message {
  const known = error instanceof ApiError ? error : new ApiError('Internal', 'Something went wrong on our side.');
  return { headers: { [outcomeHeader]: 'error' }, body: JSON.stringify(known.toWire()) };
}

/** The output as JSON text, or throws the ApiError that was sent in its place. */
export function readAnswer({ headers, body }: Message): string {
  if (headers[outcomeHeader] === 'ok') return body;
  throw ApiError.fromWire(parseError(body));
}

function parseError(body: string): WireError {
  try {
    return JSON.parse(body) as WireError;
  } catch (error) {
    throw new ApiError('Internal', 'The answer on the bus cannot be read.', { cause: error });
  }
}
