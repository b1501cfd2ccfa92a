import { availableParallelism } from 'node:os';
import { FairSemaphore, TooManyWaiting } from '@parley/background/fair-semaphore';
import { openThreadPool } from '@parley/background/thread-pool';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Logger } from '@parley/logging/logger';
import type Piscina from 'piscina';
import { unreadable } from './envelope';
import { largeBodyBytes } from './message';

export type Path = string[];

export interface LiftedJson {
  /** JSON with each long string replaced by an empty one. */
  json: string;
  strings: { path: Path; text: string }[];
}

const threads = Math.min(2, availableParallelism());
/** Lower priority, so that small requests go first on few cores. */
const niceIncrement = 10;
/** Several times the largest body, at two bytes a character. */
const maxHeapMb = 384;
const timeoutMs = 20_000;

/** Concurrency limits for large requests of a service, in all and per tenant, and the longest wait in the queue. */
export const largeRequests = { size: 4, maxEach: 2, maxWaitingEach: 20, waitMs: 5_000 };

/**
 * Parses large bodies on worker threads: the event loop only copies the long strings and parses the rest, in which the
 * gateway limits the number of values.
 */
export class LargeJson {
  private opened?: Piscina;

  constructor(private readonly logger: Logger) {}

  /** Transfers the bytes to the thread. Throws InvalidPayload unless they are a JSON object. */
  async parse(bytes: Uint8Array): Promise<object> {
    if (bytes.byteLength <= largeBodyBytes)
      return objectOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
    const { json, strings } = await this.lifted(bytes);
    const value = objectOf(json);
    for (const { path, text } of strings) put(value, path, text);
    return value;
  }

  async close(): Promise<void> {
    await this.opened?.destroy();
  }

  private async lifted(bytes: Uint8Array): Promise<LiftedJson> {
    try {
      return (await this.pool.run(bytes, {
        transferList: [bytes.buffer as ArrayBuffer],
        signal: AbortSignal.timeout(timeoutMs),
      })) as LiftedJson;
    } catch (error) {
      if ((error as Error).name === 'SyntaxError') throw unreadable(error);
      if ((error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY')
        throw new ApiError(
          'PayloadTooLarge',
          `The body needs more than ${maxHeapMb} MB of memory to parse: send it in several requests.`,
        );
      throw unavailable(
        'The large body could not be parsed at the moment; the request was not processed. Try again in a moment.',
        error,
      );
    }
  }

  private get pool(): Piscina {
    this.opened ??= openThreadPool(
      __dirname,
      'large-json.worker',
      { maxThreads: threads, niceIncrement, resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } },
      this.logger,
    );
    return this.opened;
  }
}

/** Semaphore for large requests, fair between tenants. Throws 503 after the longest wait. */
export class LargeRequestSemaphore {
  private readonly slots = new FairSemaphore(largeRequests);

  async run<Result>(tenant: string, work: () => Promise<Result>): Promise<Result> {
    const patience = AbortSignal.timeout(largeRequests.waitMs);
    const leave = await this.slots.enter(tenant, patience).catch((error: unknown) => {
      if (error !== patience.reason && !(error instanceof TooManyWaiting)) throw error;
      throw unavailable(
        `Too many large requests: the service processes ${largeRequests.size} at once, ${largeRequests.maxEach} per workspace. The request was not processed. Try again in a moment.`,
      );
    });
    try {
      return await work();
    } finally {
      leave();
    }
  }
}

function objectOf(json: string): object {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value !== 'object' || value === null) throw new TypeError('Expected a JSON object.');
    return value;
  } catch (error) {
    throw unreadable(error);
  }
}

/** Sets an own property, also for the name `__proto__`. */
function put(value: unknown, path: Path, text: string): void {
  let container = value as Record<string, unknown>;
  for (const name of path.slice(0, -1)) container = container[name] as Record<string, unknown>;
  Object.defineProperty(container, path.at(-1)!, { value: text, writable: true, enumerable: true, configurable: true });
}
