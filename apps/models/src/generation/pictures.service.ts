import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';
import type { ChatRequest } from './completion';
import { PublicFilesService } from './public-files.service';

const maxPictures = 16;
const maxPictureBytes = 20_000_000;
const types = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/**
 * Pictures by URL become data URIs: the server of a provider may be in a private network, which a URL of a customer must not
 * reach.
 */
@Injectable()
export class PicturesService {
  constructor(private readonly files: PublicFilesService) {}

  /** Throws InvalidPayload, which names the part of the message. */
  async inline(request: ChatRequest, signal: AbortSignal): Promise<ChatRequest> {
    let count = 0;
    const inlined = async (part: unknown, path: string): Promise<unknown> => {
      const picture = isRecord(part) && part['type'] === 'image_url' ? part['image_url'] : undefined;
      const url = isRecord(picture) ? picture['url'] : undefined;
      if (typeof url !== 'string' || url.startsWith('data:')) return part;
      count += 1;
      if (count > maxPictures)
        throw new ApiError('InvalidPayload', `${path} is one of more than ${maxPictures} pictures by URL.`);
      return { type: 'image_url', image_url: { ...(picture as object), url: await this.fetch(url, path, signal) } };
    };
    const messages = await Promise.all(
      request.messages.map(async (message, index) => {
        const { content } = message;
        if (!Array.isArray(content)) return message;
        const parts = content.map((part: unknown, n) => inlined(part, `messages[${index}].content[${n}]`));
        return { ...message, content: await Promise.all(parts) };
      }),
    );
    return count > 0 ? { ...request, messages } : request;
  }

  private async fetch(url: string, path: string, signal: AbortSignal): Promise<string> {
    const { type, body } = await this.files.get(url, path, { types, maxBytes: maxPictureBytes, signal });
    if (!types.includes(type))
      throw new ApiError('InvalidPayload', `${path} must be ${types.join(', ')}; its server answered "${type}".`);
    return `data:${type};base64,${body.toString('base64')}`;
  }
}
