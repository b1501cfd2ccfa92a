import { Injectable } from '@nestjs/common';
import { isRecord } from '@parley/contracts/is-record';
import { type GenerateImage, maxPictureBytes } from '@parley/contracts/models/media';
import { ApiError } from '@parley/contracts/errors';
import { parseJson } from '@parley/openai/response';
import { countTokens } from '../generation/token-count';
import { PublicFilesService } from '../generation/public-files.service';
import type { Candidate } from '../providers/providers.service';
import { UpstreamClient } from '../providers/upstream.client';
import { UpstreamError } from '../providers/upstream-error';
import { type MediaAnswer, type MediaCall, MediaCallsService, tokensIn } from './media-calls.service';

/** Characters of an answer: the picture in base64, and its revised prompt. */
const maxAnswerLength = Math.ceil((maxPictureBytes * 4) / 3) + 100_000;
/** These always answer in base64, and refuse to be asked for it. */
const knowsFormat = /gpt-image|chatgpt-image/;
const types = ['image/png', 'image/jpeg', 'image/webp'];

export interface Picture {
  bytes: Buffer;
  /** Media type by its first bytes. */
  type: string;
}

/** Pictures by models. */
@Injectable()
export class DrawingService {
  constructor(
    private readonly calls: MediaCallsService,
    private readonly files: PublicFilesService,
    private readonly upstream: UpstreamClient,
  ) {}

  /** Throws like `MediaCallsService.run`. */
  draw(call: Omit<MediaCall, 'role'>, input: GenerateImage): Promise<MediaAnswer<Picture>> {
    const { prompt, quality, format } = input;
    const size = sizeOf(input.size);
    const ask = async ({ provider, model }: Candidate) => {
      const ownFields = knowsFormat.test(model.upstream)
        ? format && { output_format: format }
        : { response_format: 'b64_json' };
      const body = {
        model: model.upstream,
        prompt,
        n: 1,
        ...(size && { size }),
        ...(quality && { quality }),
        ...ownFields,
      };
      const answer = await this.upstream.send(provider, { path: 'images/generations', body, signal: call.signal });
      const drawn = parseJson(await answer.text(maxAnswerLength));
      const bytes = await this.contentOf(drawn, provider.name, call.signal);
      const type = typeOf(bytes);
      if (!type) throw new UpstreamError('failed', `The provider "${provider.name}" answered with no picture.`);
      const tokens = tokensIn((drawn as { usage?: unknown }).usage);
      return { result: { bytes, type }, used: { units: 1, tokens, isEstimated: false } };
    };
    const most = { units: 1, tokens: { input: countTokens(prompt), output: 0 } };
    return this.calls.run({ ...call, role: 'image' }, { most, ask });
  }

  private async contentOf(drawn: unknown, provider: string, signal: AbortSignal): Promise<Buffer> {
    const [first] = isRecord(drawn) && Array.isArray(drawn['data']) ? (drawn['data'] as unknown[]) : [];
    const { b64_json: base64, url } = isRecord(first) ? first : {};
    if (typeof base64 === 'string') return Buffer.from(base64, 'base64');
    if (typeof url !== 'string')
      throw new UpstreamError('failed', `The provider "${provider}" answered with no picture.`);
    try {
      return (await this.files.get(url, 'The picture', { types, maxBytes: maxPictureBytes, signal })).body;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw new UpstreamError('failed', `The provider "${provider}" answered with an address. ${error.message}`, {
        cause: error,
      });
    }
  }
}

/** Pixels that servers know, for a ratio. */
function sizeOf(size: string | null | undefined): string | undefined {
  if (!size) return undefined;
  const [width = 1, height = 1] = size.split(':').map(Number);
  if (!size.includes(':')) return size;
  if (width === height) return '1024x1024';
  return width > height ? '1536x1024' : '1024x1536';
}

function typeOf(bytes: Buffer): string | undefined {
  if (bytes.length > 8 && bytes.readUInt32BE(0) === 0x89504e47) return 'image/png';
  if (bytes.length > 3 && bytes.readUIntBE(0, 3) === 0xffd8ff) return 'image/jpeg';
  return bytes.toString('latin1', 8, 12) === 'WEBP' ? 'image/webp' : undefined;
}
