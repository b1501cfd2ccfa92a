import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { Injectable } from '@nestjs/common';
import { FairSemaphore } from '@parley/background/fair-semaphore';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { files } from '@parley/contracts/files';
import { defaultExpirationDays, type GenerateImage } from '@parley/contracts/models/media';
import type { Operation } from '@parley/contracts/operation';
import { ParleyClient } from '@parley/transport/parley-client';
import { tenantOf } from '@parley/transport/envelope';
import { toApiError } from '@parley/service/error-body';

/** Contents in memory more than once, while they are stored. */
const storedAtOnce = { size: 4, maxEach: 2, maxWaitingEach: 1_000 };
const extensions: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/wav': 'wav',
};

type MediaInput = Pick<GenerateImage, 'options'>;

interface Target {
  operation: Operation;
  caller: Caller;
  /** Valid by the contract. */
  input: object;
}

/**
 * Stores generated content as files of the caller, and puts the addresses into the answers. The gateway does so, because
 * models requests nothing of other services.
 */
@Injectable()
export class GeneratedContentService {
  private readonly slots = new FairSemaphore(storedAtOnce);

  constructor(private readonly client: ParleyClient) {}

  /** Throws the error of files. One that clients repeat becomes final: a repeated request would be paid for again. */
  async inAnswer(text: string, target: Target): Promise<string> {
    const answer = JSON.parse(text) as { output: Record<string, string> };
    const field = target.operation.storedField!;
    try {
      answer.output[field] = await this.store(answer.output[field]!, target);
    } catch (error) {
      const { code, message } = toApiError(error);
      if (code < 500) throw error;
      throw new ApiError('Internal', `The content was generated and could not be stored: ${message}`, { cause: error });
    }
    return JSON.stringify(answer);
  }

  /** The last line gets the address, or the reason for which there is none. */
  inLines(lines: AsyncIterable<Buffer>, target: Target): Readable {
    return Readable.from(this.replaced(lines, target), { objectMode: false });
  }

  private async *replaced(parts: AsyncIterable<Buffer>, target: Target): AsyncGenerator<string> {
    const decoder = new StringDecoder('utf8');
    const start = `{"${target.operation.storedField}":`;
    let line: string[] = [];
    for await (const part of parts) {
      const [first, ...others] = decoder.write(part).split('\n');
      line.push(first!);
      for (const next of others) {
        const whole = line.join('');
        yield `${whole.startsWith(start) ? await this.inLine(whole, target) : whole}\n`;
        line = [next];
      }
    }
  }

  private async inLine(text: string, target: Target): Promise<string> {
    const field = target.operation.storedField!;
    const line = JSON.parse(text) as Record<string, string>;
    try {
      return JSON.stringify({ ...line, [field]: await this.store(line[field]!, target) });
    } catch (error) {
      return JSON.stringify({ ...line, [field]: null, error: toApiError(error).message });
    }
  }

  private async store(uri: string, { operation, caller, input }: Target): Promise<string> {
    const leave = await this.slots.enter(tenantOf(caller));
    try {
      const comma = uri.indexOf(',');
      const contentType = uri.slice('data:'.length, uri.indexOf(';'));
      const kind = operation.storedField === 'imageUrl' ? 'image' : 'audio';
      const { file } = await this.client.call(files.store, caller, {
        key: `generated/${randomUUID()}.${extensions[contentType] ?? 'bin'}`,
        contentType,
        content: uri.slice(comma + 1),
        tags: { generated: kind },
        expirationDays: (input as MediaInput).options?.expirationDays ?? defaultExpirationDays,
      });
      return file.url;
    } finally {
      leave();
    }
  }
}
