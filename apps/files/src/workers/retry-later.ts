import type { Logger } from '@parley/logging/logger';

/** Logs a failure, which must not hold up the other items of a batch: the failed one is due again later. */
export async function retryLater(logger: Logger, id: string, work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => logger.warn({ err: error, id }, 'cleanup failed, it will be retried'));
}
