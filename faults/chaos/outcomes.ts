import type { Failure } from '../noted-requests';
import type { Chronicle } from './chronicle';

export type Kind = 'clean 503' | 'clean 504' | 'clean 409' | 'broken by a killed process' | 'unclean';

/**
 * What a failure is for a client. Clean is: nothing was done, come again (503); it may have been done (504); the same
 * request is under way (409); and a connection that broke because the process at its end was killed.
 */
export function kindOf(failure: Failure, chronicle: Chronicle): Kind {
  const { kind, outcome, retryAfter } = failure;
  if (kind === 'answered') {
    if (/^503 \{.*"code":503/.test(outcome) && retryAfter !== null) return 'clean 503';
    if (/^504 \{.*"type":"OperationTimeout"/.test(outcome)) return 'clean 504';
    if (/^409 \{.*"type":"ResourceLockedConflict"/.test(outcome)) return 'clean 409';
    if (!outcome.startsWith('502 balancer:')) return 'unclean';
  }
  return chronicle.hasKilledFront(failure, frontsOf(failure)) ? 'broken by a killed process' : 'unclean';
}

function frontsOf({ request }: Failure): string[] {
  const app = / \/content\//.test(request) ? 'files' : 'gateway';
  return [0, 1].map((place) => `${app} ${place}`);
}

/** With what was done to the platform by then. */
export function described(failure: Failure, chronicle: Chronicle): string {
  const { request, requestId, outcome, tookMs, endedAt } = failure;
  const at = new Date(endedAt).toISOString();
  return `${at} ${request} (${requestId}) after ${tookMs} ms: ${outcome}\n    near: ${chronicle.near(endedAt)}`;
}
