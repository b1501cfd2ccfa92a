import { recordIn } from '@parley/contracts/is-record';
import type { CodeOwner } from '@parley/contracts/runner/runner';
import type { CalleeAnswer } from './invocation';

export type Outcome =
  | { kind: 'processed' }
  /** Another attempt would end the same way. */
  | { kind: 'failed'; reason: string }
  | { kind: 'repeat'; reason: string }
  /** `bp dev` builds the bot: no attempt. */
  | { kind: 'starting'; reason: string };

/** Answer of SDKs before 7 to every error of a handler, with status 400. */
const unexpected = 'An unexpected error occurred in the bot.';
const starting = 'Worker not ready yet';
const maxReasonLength = 500;

/** Outcome of a call, by the HTTP status of its answer. */
export function outcomeOf({ status, body }: CalleeAnswer, owner: CodeOwner = 'bot'): Outcome {
  if (status >= 200 && status < 300) return { kind: 'processed' };
  const reason = reasonOf(status, body, owner);
  if (status === 400 && reason === unexpected) return { kind: 'repeat', reason };
  if (status === 503 && body.includes(starting)) return { kind: 'starting', reason };
  if (status === 429 || status >= 500) return { kind: 'repeat', reason };
  return { kind: 'failed', reason };
}

function reasonOf(status: number, body: string, owner: CodeOwner): string {
  if (status >= 300 && status < 400)
    return `The ${owner} answered with the redirect ${status}. Redirects are not followed: set its url to the new address.`;
  if (status === 431)
    return `The ${owner} answered 431: the headers are too large for its HTTP server. Make its configuration smaller.`;
  return (messageIn(body) ?? `The ${owner} answered ${status}${body.trim() ? `: ${body.trim()}` : '.'}`).slice(
    0,
    maxReasonLength,
  );
}

/** Message of an error body: `message` of the SDK, or `error` of its HTTP server. */
function messageIn(body: string): string | undefined {
  // Proxies in front of a bot answer with HTML.
  const { message, error } = recordIn(body) ?? {};
  return [message, error].find((text): text is string => typeof text === 'string' && text !== '');
}
