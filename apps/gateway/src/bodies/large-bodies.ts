import { availableParallelism } from 'node:os';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { FairSlots, TooManyWaiting } from '@parley/background/fair-slots';
import { openThreadPool } from '@parley/background/thread-pool';
import { JsonBytes } from '@parley/bus/message';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import type Piscina from 'piscina';
import type { RawInput } from '../input-reader';
import type { LargeBody } from './large-body';
import type { CheckedBody, LargeBodyTask } from './large-body.worker';

const threads = Math.min(2, availableParallelism());
/** What is small goes first where cores are few. */
const niceIncrement = 10;
/** Several times the largest body, of two bytes a character. */
const maxHeapMb = 384;
/** For one body, and for its turn. */
const timeoutMs = 20_000;
const waitMs = 10_000;
const maxWaitingEach = 20;

/** Parses and checks large bodies on threads of their own, those of one tenant one after the other. */
@Injectable()
export class LargeBodies implements OnApplicationShutdown {
  private opened?: Piscina;
  private readonly slots = new FairSlots({ size: threads, maxEach: Math.max(1, threads - 1), maxWaitingEach });

  constructor(@Inject(platformToken) private readonly platform: Platform) {}

  /** The input as it goes over the bus. Throws what InputReader throws, and PayloadTooLarge for too many values. */
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
          `The body takes more than ${maxHeapMb} MB of memory to read: send it in several requests.`,
        );
      throw unavailable('The body could not be read in time. Nothing was done: try again in a moment.', error);
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
    'Too many large bodies of this workspace are on their way in. Nothing was done: try again in a moment.',
  );
}
