import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { FairSemaphore, TooManyWaiting } from '@parley/background/fair-semaphore';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import { parseBody } from './input-reader';
import { type BodyLease, BodyMemoryLimiter, type BodySender } from './body-memory.limiter';
import { countValues } from './json-values';
import { LargeBody, largeBytes, quickValues } from './large-body';

/** Concurrency limit for large bodies: under way and waiting, per tenant. A waiting one gives up after `waitMs`. */
const maxLargeEach = 2;
const maxWaitingEach = 20;
const waitMs = 10_000;
/** Pacing: a large body is read at 250 MB/s at most, because receiving bytes takes time of the event loop. */
const pacedBytes = 1_000_000;
const paceMs = 4;

export interface IncomingBody {
  raw: IncomingMessage;
  operation: Operation;
  sender: BodySender;
  lease?: BodyLease;
}

/** Reads request bodies: small ones into the parsed value, large ones into a LargeBody with their bytes. */
@Injectable()
export class BodiesService {
  private readonly slots = new FairSemaphore({ size: Infinity, maxEach: maxLargeEach, maxWaitingEach });

  constructor(private readonly memory: BodyMemoryLimiter) {}

  /** Undefined for an empty body. Throws InvalidPayload, PayloadTooLarge, or a 503 when BodyMemoryLimiter is full. */
  async read(incoming: IncomingBody): Promise<unknown> {
    const { raw, operation } = incoming;
    // A client that has gone during its authentication causes no further event.
    if (raw.destroyed) throw clientGone();
    const announcedBytes = Number(raw.headers['content-length'] ?? 0);
    if (announcedBytes > operation.bodyLimitBytes) throw tooLarge(operation);
    const body = await this.receive(incoming, announcedBytes);
    incoming.lease?.complete();
    return body instanceof LargeBody ? body : valueOf(body, operation);
  }

  private receive(incoming: IncomingBody, announcedBytes: number): Promise<Buffer[] | LargeBody> {
    const { raw, operation, sender } = incoming;
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let large: LargeBody | undefined;
      let size = 0;
      let unpaced = 0;
      const fail = (error: Error) => {
        stop();
        reject(error);
      };
      const lease = this.memory.open(sender, fail);
      incoming.lease = lease;

      const becomeLarge = () => {
        large = new LargeBody(operation.bodyLimitValues);
        for (const chunk of chunks) large.add(chunk);
        raw.pause();
        this.takeSlot(incoming, lease).then(() => raw.resume(), fail);
      };
      const pace = (bytes: number) => {
        unpaced += bytes;
        if (unpaced < pacedBytes) return;
        unpaced = 0;
        raw.pause();
        setTimeout(() => raw.resume(), paceMs).unref();
      };
      const onData = (chunk: Buffer) => {
        size += chunk.length;
        if (size > operation.bodyLimitBytes) return fail(tooLarge(operation));
        try {
          lease.take(chunk.length);
          if (large) {
            large.add(chunk);
            return pace(chunk.length);
          }
          chunks.push(chunk);
          if (size > largeBytes) becomeLarge();
        } catch (error) {
          fail(error as Error);
        }
      };
      const onEnd = () => {
        stop();
        resolve(large ?? chunks);
      };
      const onGone = () => fail(clientGone());
      const stop = () => {
        raw.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      };
      raw.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
      if (announcedBytes > largeBytes) becomeLarge();
    });
  }

  /** Takes one of the tenant's slots for large bodies, until the request ends. */
  private async takeSlot({ raw, sender }: IncomingBody, lease: BodyLease): Promise<void> {
    const gone = new AbortController();
    raw.once('close', () => gone.abort());
    const patience = AbortSignal.any([AbortSignal.timeout(waitMs), gone.signal]);
    const leave = await this.slots.enter(sender.tenant, patience).catch((error: unknown) => {
      if (error !== patience.reason && !(error instanceof TooManyWaiting)) throw error;
      throw unavailable(
        `Too many large requests: at most ${maxLargeEach} bodies over ${largeBytes} bytes per workspace at once. The request was not processed. Retry after 1 s.`,
      );
    });
    lease.onEnd(leave);
  }
}

function clientGone(): ApiError {
  return new ApiError('InvalidPayload', 'The client closed the connection before it had sent the whole body.');
}

/** A short body with many values becomes a LargeBody as well: a child process parses it. */
function valueOf(chunks: Buffer[], { bodyLimitValues }: Operation): unknown {
  const [first] = chunks;
  const bytes = chunks.length === 1 ? first! : Buffer.concat(chunks);
  // Each value takes two bytes at least.
  if (bytes.length <= 2 * quickValues || countValues(bytes, quickValues) <= quickValues)
    return parseBody(bytes.toString());
  const large = new LargeBody(bodyLimitValues);
  large.add(bytes);
  return large;
}

function tooLarge({ bodyLimitBytes, bodyLimitHint }: Operation): ApiError {
  return new ApiError(
    'PayloadTooLarge',
    `The body is too large: this operation takes at most ${bodyLimitBytes} bytes${bodyLimitHint ? `; ${bodyLimitHint}` : ''}.`,
  );
}
