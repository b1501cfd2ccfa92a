import type { BotTarget } from '@parley/contracts/admin/targets';
import type { DeliveryAttempt } from '@parley/contracts/runtime/deliveries';
import { type CodeOwner, maxStartMs } from '@parley/contracts/runner/runner';
import { Interrupted } from '@parley/work-queue/queue';
import {
  type CalleeAnswer,
  CalleeTimedOut,
  CalleeUnreachable,
  ExchangeTooLarge,
  NotLoadable,
  RunnerEnded,
} from './invocation';
import { type Outcome, outcomeOf } from './outcome';

const maxInvocationMs = 120_000;
const maxRepeatedMs = 60_000;
const retryPausesMs = [1_000, 5_000, 30_000];
const maxFailures = retryPausesMs.length + 1;
/** A time-out is repeated once. Code that hangs or ends while it loads occupies a process each time. */
const maxFailuresOf = { 'timed out': 2, 'not loadable': 3, other: maxFailures };
/** Attempts of one delivery, with the pauses between them, take no longer than this. */
const maxTriedMs = 3 * 60_000;
/**
 * Ends of runners, and of processes that waited for an answer, which are no attempts. Code that ends them itself cannot do
 * so for ever: each further end counts.
 */
export const maxInterruptions = 10;
export const maxAttempts = maxFailures + maxInterruptions;
/** `bp dev` builds a bot or integration for some seconds, and for minutes on a busy machine. */
export const maxBuildMs = 10 * 60_000;
export const buildPauseMs = 1_000;
/** Time limit of work that makes one call: the call itself, the start of a process before it, and the records. */
export const attemptTimeoutMs = maxStartMs + maxInvocationMs + 10_000;

/** Result of a call. */
export interface Called {
  attempt: DeliveryAttempt;
  outcome: Outcome;
  failure?: keyof typeof maxFailuresOf;
}

/** Throws CalleeUnavailable and Interrupted, which are no attempts, and the reason of the signal. */
export async function attempted(
  owner: CodeOwner,
  signal: AbortSignal,
  send: () => Promise<CalleeAnswer>,
): Promise<Called> {
  const startedAt = new Date();
  const began = performance.now();
  const attemptOf = (status: number | null, error: string | null): DeliveryAttempt => ({
    at: startedAt.toISOString(),
    durationMs: Math.round(performance.now() - began),
    status,
    error,
  });
  try {
    const answer = await send();
    const outcome = outcomeOf(answer, owner);
    return { attempt: attemptOf(answer.status, 'reason' in outcome ? outcome.reason : null), outcome };
  } catch (error) {
    signal.throwIfAborted();
    const { message: reason } = error as Error;
    if (error instanceof RunnerEnded) throw new Interrupted(reason);
    if (error instanceof ExchangeTooLarge)
      return { attempt: attemptOf(null, reason), outcome: { kind: 'failed', reason } };
    if (error instanceof CalleeTimedOut || error instanceof CalleeUnreachable)
      return { attempt: attemptOf(null, reason), outcome: { kind: 'repeat', reason }, failure: failureOf(error) };
    throw error;
  }
}

/** Time limit of an attempt. A repeated one gets at most a minute, so that a slow bot does not hold its conversation for long. */
export function timeLimitMs({ timeoutMs }: Pick<BotTarget, 'timeoutMs'>, attempt: number): number {
  return Math.min(timeoutMs, attempt === 1 ? maxInvocationMs : maxRepeatedMs);
}

/**
 * Pause before the next attempt; undefined after the last one.
 * @param attempt from 1
 * @param attempts all until now
 */
export function pauseAfter(
  attempt: number,
  { failure = 'other' }: Called,
  attempts: DeliveryAttempt[],
): number | undefined {
  if (attempt >= maxFailuresOf[failure]) return undefined;
  const pauses = retryPausesMs.slice(0, attempt);
  const triedMs = [...pauses, ...attempts.map(({ durationMs }) => durationMs)].reduce((sum, ms) => sum + ms, 0);
  return triedMs > maxTriedMs ? undefined : pauses.at(-1);
}

function failureOf(error: CalleeTimedOut | CalleeUnreachable): Called['failure'] {
  if (error instanceof NotLoadable) return 'not loadable';
  return error instanceof CalleeTimedOut ? 'timed out' : 'other';
}
