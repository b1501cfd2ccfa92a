import { FairSemaphore, TooManyWaiting } from '@parley/background/fair-semaphore';
import { openThreadPool } from '@parley/background/thread-pool';
import { unavailable } from '@parley/contracts/errors';

/** Script in the Vector Remap Language, and the value that it sees as `.`. */
export interface VrlScript {
  script: string;
  data: Record<string, unknown>;
  /** Whether the value is returned as the script left it. */
  isDataWanted?: boolean;
}

/**
 * `problem`: why there is no result, such as an error of the script. `isTimeout`: the same script may have a result when
 * the machine is less busy.
 */
export type VrlResult =
  | { result: unknown; data?: Record<string, unknown>; problem?: undefined }
  | { problem: string; isTimeout?: true };

/** The engine takes 200 ms to load, which does not count for the script, and scripts of integrations about 1 ms. */
const limits = { startMs: 10_000, timeoutMs: 2_000, waitMs: 5_000, maxWaitingEach: 100 };

/**
 * Runs scripts of integrations on a worker thread, bounded in time and memory: neither can block the event loop. Scripts
 * reach no file, no network and no environment variable. Tenants take turns.
 */
export class VrlRunner {
  private readonly pool = openThreadPool(__dirname, 'run-script.worker', {
    maxThreads: 1,
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  });

  private readonly slot = new FairSemaphore({ size: 1, maxEach: 1, maxWaitingEach: limits.maxWaitingEach });

  /** Throws a 503 when too many scripts of the tenant wait. */
  async run(tenant: string, script: VrlScript): Promise<VrlResult> {
    const patience = AbortSignal.timeout(limits.waitMs);
    try {
      return await this.slot.run(tenant, () => this.execute(script), patience);
    } catch (error) {
      if (error !== patience.reason && !(error instanceof TooManyWaiting)) throw error;
      throw unavailable('Too many scripts of this workspace are waiting. Try again in a moment.');
    }
  }

  async close(): Promise<void> {
    await this.pool.destroy();
  }

  /** Loads the engine where that is not done. */
  private async start(): Promise<void> {
    const timeout = AbortSignal.timeout(limits.startMs);
    try {
      await this.pool.run(undefined, { signal: timeout });
    } catch (error) {
      if (!timeout.aborted) throw error;
      throw unavailable('The engine of scripts does not start. Try again in a moment.', error);
    }
  }

  /** A thread that exceeds the time limit is ended, and the next script gets a new one. */
  private async execute(script: VrlScript): Promise<VrlResult> {
    await this.start();
    const timeout = AbortSignal.timeout(limits.timeoutMs);
    try {
      return (await this.pool.run(script, { signal: timeout })) as VrlResult;
    } catch (error) {
      if (timeout.aborted) return { problem: `The script takes longer than ${limits.timeoutMs} ms.`, isTimeout: true };
      if ((error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY')
        return { problem: 'The script takes too much memory.' };
      throw error;
    }
  }
}
