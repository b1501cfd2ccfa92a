import { availableParallelism } from 'node:os';
import { FairSlots, TooManyWaiting } from '@parley/background/fair-slots';
import { openThreadPool } from '@parley/background/thread-pool';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Logger } from '@parley/logging/logger';
import type Piscina from 'piscina';
import { unreadable } from './envelope';
import { largeBodyBytes } from './message';

/** Names that lead to a value, from the outermost. */
export type Path = string[];

export interface LiftedJson {
  /** With an empty string in place of each long one. */
  json: string;
  strings: { path: Path; text: string }[];
}

const threads = Math.min(2, availableParallelism());
/** What is small goes first where cores are few. */
const niceIncrement = 10;
/** Several times the largest body, of two bytes a character. */
const maxHeapMb = 384;
const timeoutMs = 20_000;

/** Large requests that a service works on at once, those of one tenant, and how long another one waits for its turn. */
export const largeRequests = { size: 4, maxEach: 2, maxWaitingEach: 20, waitMs: 5_000 };

/**
 * Parses large bodies on threads of its own: the event loop does no more than copy their long strings and parse the rest,
 * of which the gateway bounds the number of values.
 */
export class LargeJson {
  private opened?: Piscina;

  constructor(private readonly logger: Logger) {}

  /** The bytes move to the thread. Throws InvalidPayload for what is no JSON object. */
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
        throw new ApiError('PayloadTooLarge', `The body takes more than ${maxHeapMb} MB of memory to read.`);
      throw unavailable('A large body could not be read just now. Nothing was done: try again in a moment.', error);
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

/** Lets large requests be worked on in fair turns. Throws a 503 for one that must wait too long. */
export class LargeRequestTurns {
  private readonly slots = new FairSlots(largeRequests);

  async run<Result>(tenant: string, work: () => Promise<Result>): Promise<Result> {
    const patience = AbortSignal.timeout(largeRequests.waitMs);
    const leave = await this.slots.enter(tenant, patience).catch((error: unknown) => {
      if (error !== patience.reason && !(error instanceof TooManyWaiting)) throw error;
      throw unavailable(
        `Only ${largeRequests.size} large requests are worked on at once, ${largeRequests.maxEach} of one workspace. Nothing was done: try again in a moment.`,
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
    if (typeof value !== 'object' || value === null) throw new TypeError('A JSON object is needed.');
    return value;
  } catch (error) {
    throw unreadable(error);
  }
}

/** As an own field, one called `__proto__` too. */
function put(value: unknown, path: Path, text: string): void {
  let container = value as Record<string, unknown>;
  for (const name of path.slice(0, -1)) container = container[name] as Record<string, unknown>;
  Object.defineProperty(container, path.at(-1)!, { value: text, writable: true, enumerable: true, configurable: true });
}
