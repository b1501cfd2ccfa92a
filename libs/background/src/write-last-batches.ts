import type { Logger } from '@parley/logging/logger';

const maxFailures = 3;

/**
 * Group commit at a shutdown: writes what waits. A failed batch does not keep the others. After the third failure the
 * rest is left, since the database has gone and the process has to stop. Never throws, so that other shutdown hooks run.
 */
export async function writeLastBatches(write: () => Promise<boolean>, logger: Logger): Promise<void> {
  for (let failures = 0; failures < maxFailures;) {
    try {
      if (!(await write())) return;
    } catch (error) {
      failures += 1;
      logger.warn({ err: error }, 'a batch could not be written before the process stops');
    }
  }
}
