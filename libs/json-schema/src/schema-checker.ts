import { Slots } from '@parley/background/slots';
import { openThreadPool } from '@parley/background/thread-pool';
import { unavailable } from '@parley/contracts/errors';
import { CompiledSchemas, firstProblem, type SchemaCheck } from './compiled-schemas';
import { isQuick } from './quick-schema';

const threads = 2;
const maxHeapMb = 128;

/** How long a check may take on its thread and may wait for one, and how many may wait. */
const limits = { timeoutMs: 2_000, waitMs: 5_000, maxWaiting: 100 };

/**
 * Checks values against schemas that came from outside. What may take more than some milliseconds happens on threads of
 * their own, bounded in time and memory: neither a schema nor a pattern in it can hold up anything else. Answers 503 when
 * no thread comes free in time.
 */
export class SchemaChecker {
  private readonly pool = openThreadPool(__dirname, 'schema-checks.worker', {
    maxThreads: threads,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });

  private readonly slots = new Slots(threads);
  private readonly quickSchemas = new CompiledSchemas(200_000);
  private readonly limits: typeof limits;

  constructor(changed: Partial<typeof limits> = {}) {
    this.limits = { ...limits, ...changed };
  }

  /** What keeps the first value that does not fit its schema from it, as a sentence; undefined when all fit. */
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
  return unavailable('Too many values are just being checked against their schemas. Try again in a moment.');
}
