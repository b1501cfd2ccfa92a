import { availableParallelism } from 'node:os';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { FairSemaphore, TooManyWaiting } from '@parley/background/fair-semaphore';
import { openThreadPool } from '@parley/background/thread-pool';
import { JsonBytes } from '@parley/transport/message';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import type Piscina from 'piscina';
import type { RawInput } from './input-reader';
import type { LargeBody } from './large-body';
import type { CheckedBody, LargeBodyTask } from './large-body.worker';

const threads = Math.min(2, availableParallelism());
/** Low thread priority: on few cores, small requests go first. */
const niceIncrement = 10;
/** Heap limit of a thread: several times the largest body at two bytes a character. */
const maxHeapMb = 384;
const timeoutMs = 20_000;
const waitMs = 10_000;
const maxWaitingEach = 20;

/** Parses and validates large bodies on worker threads, one at a time per tenant. */
@Injectable()
export class LargeBodiesService implements OnApplicationShutdown {
  private opened?: Piscina;
  private readonly slots = new FairSemaphore({ size: threads, maxEach: Math.max(1, threads - 1), maxWaitingEach });

  constructor(@Inject(platformToken) private readonly platform: Platform) {}

  /**
   * Validated input as JSON bytes for the bus. Throws the errors of InputReader, and PayloadTooLarge for too many
   * values.
   */
  async read(
    { subject }: Operation,
    tenant: string,
    { body, query, path, headers }: RawInput & { body: LargeBody },
  ): Promise<JsonBytes> {
    const patience = AbortSignal.timeout(waitMs);
    const task: LargeBodyTask = { subject, parts: body.parts, rest: { query, path, headers } };
    try {
      return await this.slots.run(tenant, () => this.check(task), patience);
    } catch (error) {
      if (error === patience.reason || error instanceof TooManyWaiting) throw busy();
      throw error;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.opened?.destroy();
  }

  private async check(task: LargeBodyTask): Promise<JsonBytes> {
    const checked = await this.run(task);
    if ('problem' in checked) throw ApiError.fromWire(checked.problem);
    return new JsonBytes(checked);
  }

  private async run(task: LargeBodyTask): Promise<CheckedBody> {
    try {
      return (await this.pool.run(task, {
        transferList: task.parts.map(({ buffer }) => buffer as ArrayBuffer),
        signal: AbortSignal.timeout(timeoutMs),
      })) as CheckedBody;
    } catch (error) {
      if ((error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY')
        throw new ApiError(
          'PayloadTooLarge',
          `The body needs more than ${maxHeapMb} MB of memory to parse: send it in several requests.`,
        );
      throw unavailable('Reading the body timed out; the request was not processed. Retry after 1 s.', error);
    }
  }

  private get pool(): Piscina {
    this.opened ??= openThreadPool(
      __dirname,
      'large-body.worker',
      { maxThreads: threads, niceIncrement, resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } },
      this.platform.logger,
    );
    return this.opened;
  }
}

function busy(): ApiError {
  return unavailable(
    'Too many large requests of this workspace are being read; the request was not processed. Retry after 1 s.',
  );
}
