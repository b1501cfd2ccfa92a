import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { maxWebhookBytes } from '@parley/contracts/runtime/webhooks';
import { type BodyLease, BodyMemoryLimiter, type BodySender } from '../bodies/body-memory.limiter';

/** Reads bodies of webhooks as text. */
@Injectable()
export class WebhookBodyService {
  constructor(private readonly memory: BodyMemoryLimiter) {}

  /**
   * Undefined without a body. Throws PayloadTooLarge, UnsupportedMediaType for a body that is not UTF-8, or a 503 when
   * BodyMemoryLimiter is full.
   * @param onLease the caller ends the lease with the request
   */
  async read(
    raw: IncomingMessage,
    sender: BodySender,
    onLease: (lease: BodyLease) => void,
  ): Promise<string | undefined> {
    // A client that has gone before causes no further event.
    if (raw.destroyed) throw clientGone();
    if (Number(raw.headers['content-length'] ?? 0) > maxWebhookBytes) throw tooLarge();
    const bytes = await this.receive(raw, sender, onLease);
    if (bytes.length === 0) return undefined;
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      // Also a compressed body.
      throw new ApiError(
        'UnsupportedMediaType',
        'The body is not UTF-8 text. Integrations get bodies as text: send JSON, a form or other text, not compressed.',
      );
    }
  }

  private receive(raw: IncomingMessage, sender: BodySender, onLease: (lease: BodyLease) => void): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const fail = (error: Error) => {
        raw.pause();
        reject(error);
      };
      const lease = this.memory.open(sender, fail);
      onLease(lease);
      raw.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxWebhookBytes) return fail(tooLarge());
        try {
          lease.take(chunk.length);
        } catch (error) {
          return fail(error as Error);
        }
        chunks.push(chunk);
      });
      raw.once('error', fail);
      raw.once('close', () => fail(clientGone()));
      raw.once('end', () => {
        lease.complete();
        resolve(Buffer.concat(chunks));
      });
    });
  }
}

function clientGone(): ApiError {
  return new ApiError('InvalidPayload', 'The connection was closed before the body was complete.');
}

function tooLarge(): ApiError {
  return new ApiError('PayloadTooLarge', `The body of a webhook may have at most ${maxWebhookBytes} bytes.`);
}
