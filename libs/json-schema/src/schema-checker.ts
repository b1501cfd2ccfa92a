import { Semaphore } from '@parley/background/semaphore';
import { openThreadPool } from '@parley/background/thread-pool';
import { unavailable } from '@parley/contracts/errors';
import { CompiledSchemas, firstProblem, type SchemaCheck } from './compiled-schemas';
import { isQuick } from './quick-schema';

const threads = 2;
const maxHeapMb = 128;

/** Timeout of a check on its thread, timeout in the queue, and length of the queue. */
const limits = { timeoutMs: 2_000, waitMs: 5_000, maxWaiting: 100 };

/**
 * Validates values against untrusted schemas. Checks that may take more than some milliseconds run on worker threads,
 * bounded in time and memory, so that neither a schema nor a pattern blocks the event loop. Throws 503 when no thread
 * becomes free in time.
 */
export class SchemaChecker {
  private readonly pool = openThreadPool(__dirname, 'schema-checks.worker', {
    maxThreads: threads,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });

  private readonly slots = new Semaphore(threads);
  private readonly quickSchemas = new CompiledSchemas(200_000);
  private readonly limits: typeof limits;

  constructor(changed: Partial<typeof limits> = {}) {
    this.limits = { ...limits, ...changed };
  }

  /** First validation error as a sentence, or undefined. */
  async firstProblem(checks: SchemaCheck[]): Promise<string | undefined> {
    if (checks.every(isQuick)) return firstProblem(checks, this.quickSchemas);
    const { waitMs, maxWaiting } = this.limits;
    if (this.slots.waitingCount >= maxWaiting) throw busy();
    const patience = AbortSignal.timeout(waitMs);
    try {
      return await this.slots.run(() => this.check(checks), patience);
    } catch (error) {
      throw error === patience.reason ? busy() : error;
    }
  }

  async close(): Promise<void> {
    await this.pool.destroy();
  }

  private async check(checks: SchemaCheck[]): Promise<string | undefined> {
    const timeout = AbortSignal.timeout(this.limits.timeoutMs);
    try {
      return (await this.pool.run(checks, { signal: timeout })) as string | undefined;
    } catch (error) {
      const paths = checks.map(({ path }) => path).join(', ');
      if (timeout.aborted) return `${paths} takes too long to check against its schema`;
      if ((error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY')
        return `${paths} takes too much memory to check against its schema`;
      throw error;
    }
  }
}

function busy() {
  return unavailable('Too many values are being validated against their schemas. Try again in a moment.');
}
