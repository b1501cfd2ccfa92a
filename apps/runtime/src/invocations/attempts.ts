import type { DeliveryAttempt } from '@parley/contracts/runtime/deliveries';
import type { CodeOwner } from '@parley/contracts/runner/runner';
import { type CalleeAnswer, CalleeTimedOut, CalleeUnreachable, ExchangeTooLarge } from './invocation';
import { type Outcome, outcomeOf } from './outcome';

const retryPausesMs = [1_000, 5_000, 30_000];
export const maxAttempts = retryPausesMs.length + 1;
/** A time-out is repeated once. */
const attemptsWithTimeOut = 2;
/** One delivery holds its conversation no longer than this. */
const maxHoldMs = 3 * 60_000;

/** Result of a call. `isTimeOut`: no answer within the time limit. */
export interface Called {
  attempt: DeliveryAttempt;
  outcome: Outcome;
  isTimeOut?: boolean;
}

/** Throws CalleeUnavailable, which is no attempt, and the reason of the signal. */
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
    if (error instanceof ExchangeTooLarge)
      return { attempt: attemptOf(null, reason), outcome: { kind: 'failed', reason } };
    if (error instanceof CalleeTimedOut || error instanceof CalleeUnreachable) {
      const isTimeOut = error instanceof CalleeTimedOut;
      return { attempt: attemptOf(null, reason), outcome: { kind: 'repeat', reason }, isTimeOut };
    }
    throw error;
  }
}

/**
 * Pause before the next attempt; undefined after the last one.
 * @param attempt from 1
 * @param firstAt time of the first attempt
 */
export function pauseAfter(attempt: number, { isTimeOut }: Called, firstAt: Date): number | undefined {
  const pauseMs = retryPausesMs[attempt - 1];
  if (pauseMs === undefined || (isTimeOut && attempt >= attemptsWithTimeOut)) return undefined;
  return Date.now() + pauseMs - firstAt.getTime() > maxHoldMs ? undefined : pauseMs;
}
