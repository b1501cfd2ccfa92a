import type { Failure } from '../recorded-requests';
import type { Chronicle } from './chronicle';

export type Kind = 'clean 503' | 'clean 504' | 'clean 409' | 'broken by a killed process' | 'unclean';

/**
 * Classifies a failure. Clean: not processed (503), possibly processed (504), already running (409), or its process was
 * killed, which includes a deletion that was repeated and found nothing.
 */
export function kindOf(failure: Failure, chronicle: Chronicle): Kind {
  const { kind, outcome, retryAfter } = failure;
  if (kind === 'answered') {
    if (/^503 \{.*"code":503/.test(outcome) && retryAfter !== null) return 'clean 503';
    if (/^504 \{.*"type":"OperationTimeout"/.test(outcome)) return 'clean 504';
    if (/^409 \{.*"type":"ResourceLockedConflict"/.test(outcome)) return 'clean 409';
    if (!outcome.startsWith('502 balancer:') && !isRepeatedDeletion(failure)) return 'unclean';
  }
  return chronicle.hasKilledFront(failure, frontsOf(failure)) ? 'broken by a killed process' : 'unclean';
}

/** The balancer repeats a request whose connection ends at once, although a killed gateway may have passed it on. */
function isRepeatedDeletion({ request, outcome }: Failure): boolean {
  return request.startsWith('DELETE ') && /^404 \{.*"type":"ResourceNotFound"/.test(outcome);
}

function frontsOf({ request }: Failure): string[] {
  const app = / \/content\//.test(request) ? 'files' : 'gateway';
  return [0, 1].map((place) => `${app} ${place}`);
}

/** With the faults before it. */
export function described(failure: Failure, chronicle: Chronicle): string {
  const { request, requestId, outcome, tookMs, endedAt } = failure;
  const at = new Date(endedAt).toISOString();
  return `${at} ${request} (${requestId}) after ${tookMs} ms: ${outcome}\n    near: ${chronicle.near(endedAt)}`;
}
