import { FairSemaphore, TooManyWaiting } from '@parley/background/fair-semaphore';
import { ApiError } from '@parley/contracts/errors';

/** Concurrency limits for large requests of a service, in all and per tenant, and the longest wait in the queue. */
const largeRequests = { size: 4, maxEach: 2, maxWaitingEach: 20, waitMs: 5_000 };

/** Semaphore for large requests, fair between tenants. Throws 503 after the longest wait. */
export class LargeRequestSemaphore {
  private readonly slots = new FairSemaphore(largeRequests);

  async run<Result>(tenant: string, work: () => Promise<Result>): Promise<Result> {
    const patience = AbortSignal.timeout(largeRequests.waitMs);
    const leave = await this.slots.enter(tenant, patience).catch((error: unknown) => {
      if (error !== patience.reason && !(error instanceof TooManyWaiting)) throw error;
      throw new ApiError(
        'Internal',
        `Too many large requests: the service processes ${largeRequests.size} at once, ${largeRequests.maxEach} per workspace. The request was not processed. Try again in a moment.`,
        { code: 503, retryAfterSeconds: 1, metadata: { reason: 'busy' } },
      );
    });
    try {
      return await work();
    } finally {
      leave();
    }
  }
}
