import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { bodyEncodingHeader, maxWebhookBytes, type WebhookRequest } from '@parley/contracts/runtime/webhooks';
import { bodyOf } from '@parley/service/webhook-body';
import { type BodyLease, BodyMemoryLimiter, type BodySender } from '../bodies/body-memory.limiter';
import { unpackers } from './unpackers';

type ReceivedBody = Pick<WebhookRequest, 'headers' | 'body'>;

/** Reads bodies of webhooks. */
@Injectable()
export class WebhookBodyService {
  constructor(private readonly memory: BodyMemoryLimiter) {}

  /**
   * Headers and unpacked body for the integration. Throws PayloadTooLarge, UnsupportedMediaType for an unknown
   * content-encoding, InvalidPayload for a body that is not in it, or a 503 when BodyMemoryLimiter is full.
   * @param onLease the caller ends the lease with the request
   */
  async read(raw: IncomingMessage, sender: BodySender, onLease: (lease: BodyLease) => void): Promise<ReceivedBody> {
    // A client that has gone before causes no further event.
    if (raw.destroyed) throw clientGone();
    const { [bodyEncodingHeader]: _forged, ...headers } = singleValues(raw.headers);
    const encoding = encodingOf(headers);
    if (Number(headers['content-length'] ?? 0) > maxWebhookBytes) throw tooLarge();
    const received = await this.receive(raw, sender, onLease);
    if (encoding === undefined || received.bytes.length === 0) return handedOn(headers, received.bytes);
    const { 'content-encoding': _encoding, 'content-length': _packedBytes, ...others } = headers;
    return handedOn(others, await unpacked(received, encoding));
  }

  private receive(raw: IncomingMessage, sender: BodySender, onLease: (lease: BodyLease) => void): Promise<LimitedBody> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => {
        raw.pause();
        reject(error);
      };
      const lease = this.memory.open(sender, fail);
      onLease(lease);
      const body = new LimitedBody(lease);
      raw.on('data', (chunk: Buffer) => {
        try {
          body.add(chunk);
        } catch (error) {
          fail(error as Error);
        }
      });
      raw.once('error', fail);
      raw.once('close', () => fail(clientGone()));
      raw.once('end', () => {
        lease.complete();
        resolve(body);
      });
    });
  }
}

class LimitedBody {
  private readonly chunks: Buffer[] = [];
  private size = 0;

  constructor(readonly lease: BodyLease) {}

  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }

  /** Throws PayloadTooLarge, or a 503 when BodyMemoryLimiter is full. */
  add(chunk: Buffer): void {
    this.size += chunk.length;
    if (this.size > maxWebhookBytes) throw tooLarge();
    this.lease.take(chunk.length);
    this.chunks.push(chunk);
  }
}

/** Ends at the size limit: the rest of a zip bomb stays packed. */
async function unpacked({ bytes, lease }: LimitedBody, encoding: string): Promise<Buffer> {
  const body = new LimitedBody(lease);
  const unpacker = unpackers.get(encoding)!(bytes);
  unpacker.end(bytes);
  try {
    for await (const chunk of unpacker as AsyncIterable<Buffer>) body.add(chunk);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    const reason = (error as Error).message;
    throw new ApiError('InvalidPayload', `content-encoding: the body is not ${encoding} (${reason}).`, {
      cause: error,
    });
  }
  return body.bytes;
}

function handedOn(headers: ReceivedBody['headers'], bytes: Buffer): ReceivedBody {
  if (bytes.length === 0) return { headers };
  const body = bodyOf(bytes);
  return { headers: { ...headers, ...body.headers }, body: body.body };
}

/** Undefined if the body is not compressed. */
function encodingOf({ 'content-encoding': given = '' }: ReceivedBody['headers']): string | undefined {
  const encoding = given.trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return undefined;
  if (unpackers.has(encoding)) return encoding;
  throw new ApiError(
    'UnsupportedMediaType',
    `content-encoding: "${given}" is not supported. Compress the body by gzip, deflate or br, or not at all.`,
  );
}

function singleValues(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

function clientGone(): ApiError {
  return new ApiError('InvalidPayload', 'The connection was closed before the body was complete.');
}

function tooLarge(): ApiError {
  return new ApiError('PayloadTooLarge', `The body of a webhook may have at most ${maxWebhookBytes} bytes.`);
}
