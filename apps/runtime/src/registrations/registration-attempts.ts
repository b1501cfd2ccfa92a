import type { CodeOwner } from '@parley/contracts/runner/runner';
import { RetryLater, type Work } from '@parley/work-queue/queue';
import { attempted, attemptTimeoutMs, maxInterruptions } from '../invocations/attempts';
import { type CalleeAnswer, CalleeUnavailable, CodeUnavailable } from '../invocations/invocation';

const retryPausesMs = [5_000, 30_000];
/** `bp dev` deploys before its worker listens. */
export const maxDevStartMs = 5 * 60_000;
export const devStartPauseMs = 1_000;

/** Limits of work that registers. */
export const registrationLimits = {
  attempts: retryPausesMs.length + 1 + maxInterruptions,
  timeoutMs: attemptTimeoutMs,
};

export interface RegistrationFailure {
  reason: string;
  /** Whether another attempt may end otherwise. */
  isTemporary: boolean;
  /** Until the next attempt; undefined after the last one. */
  pauseMs?: number;
}

/**
 * Calls a bot or integration to register it. Undefined after a success. Throws RetryLater while its code cannot be called,
 * and Interrupted: neither is an attempt.
 */
export async function registrationFailure(
  owner: CodeOwner,
  { signal, createdAt, failures }: Work,
  send: () => Promise<CalleeAnswer>,
): Promise<RegistrationFailure | undefined> {
  const pauseMs = retryPausesMs[failures];
  try {
    const { outcome } = await attempted(owner, signal, send);
    if (!('reason' in outcome)) return undefined;
    return { reason: outcome.reason, isTemporary: outcome.kind !== 'failed', pauseMs };
  } catch (error) {
    if (error instanceof CodeUnavailable) throw new RetryLater(error.message, error.pauseMs(createdAt));
    if (error instanceof CalleeUnavailable) return { reason: error.message, isTemporary: false, pauseMs };
    throw error;
  }
}
