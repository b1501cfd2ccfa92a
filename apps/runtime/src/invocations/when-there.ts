import { ApiError } from '@parley/contracts/errors';
import { RetryLater, type Work } from '@parley/work-queue/queue';

/** Pauses while another service is away; they grow with the age of the work, but not after a long request. */
const [minAwayMs, maxAwayMs] = [1_000, 5_000];

/** Answer of another service. That it is away, or did not answer in time, is no attempt: nothing was called. */
export async function whenThere<T>({ createdAt }: Work, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.type === 'OperationTimeout') throw new RetryLater(error.message, minAwayMs);
    if (error.code !== 503) throw error;
    const ageMs = Date.now() - createdAt.getTime();
    throw new RetryLater(error.message, Math.min(Math.max(ageMs, minAwayMs), maxAwayMs));
  }
}
