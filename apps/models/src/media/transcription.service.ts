import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';
import { maxHeardBytes } from '@parley/contracts/models/media';
import { parseJson } from '@parley/openai/response';
import { PublicFilesService } from '../generation/public-files.service';
import type { Candidate } from '../providers/providers.service';
import { UpstreamClient } from '../providers/upstream.client';
import { UpstreamError } from '../providers/upstream-error';
import { contentOf } from './data-uri';
import { type MediaAnswer, type MediaCall, MediaCallsService, type MediaUse, tokensIn } from './media-calls.service';
import { estimatedSeconds, rounded, soundExtension } from './sound';

const maxAnswerLength = 16_000_000;
const types = ['audio/*', 'video/mp4', 'video/webm', 'application/ogg'];

export interface Sound {
  bytes: Buffer;
  /** End of the name of its file, without a dot. */
  extension: string;
}

export interface Heard {
  text: string;
  seconds: number;
}

/** Speech as text. */
@Injectable()
export class TranscriptionService {
  constructor(
    private readonly calls: MediaCallsService,
    private readonly files: PublicFilesService,
    private readonly upstream: UpstreamClient,
  ) {}

  /** Audio of a data URI, or of a public address. Throws InvalidPayload, which names the field. */
  async fetch(url: string, field: string, signal: AbortSignal): Promise<Sound> {
    const bytes = /^data:/i.test(url)
      ? contentOf(url)?.bytes
      : (await this.files.get(url, field, { types, maxBytes: maxHeardBytes, signal })).body;
    if (!bytes) throw new ApiError('InvalidPayload', `${field} must be an address, or a data URI in base64.`);
    if (bytes.length > maxHeardBytes)
      throw new ApiError('InvalidPayload', `${field} must be audio of at most ${maxHeardBytes} bytes.`);
    const extension = soundExtension(bytes);
    if (!extension)
      throw new ApiError('InvalidPayload', `${field} must be audio: WAV, MP3, Ogg, FLAC, WebM or MP4 (M4A).`);
    return { bytes, extension };
  }

  /** Throws like `MediaCallsService.run`. */
  transcribe(call: Omit<MediaCall, 'role'>, { bytes, extension }: Sound): Promise<MediaAnswer<Heard>> {
    const { longest, likely } = estimatedSeconds(bytes);
    const ask = async ({ provider, model }: Candidate) => {
      const form = new FormData();
      form.set('file', new Blob([new Uint8Array(bytes)]), `audio.${extension}`);
      form.set('model', model.upstream);
      form.set('response_format', 'json');
      const answer = await this.upstream.send(provider, { path: 'audio/transcriptions', form, signal: call.signal });
      const heard = parseJson(await answer.text(maxAnswerLength));
      if (!isRecord(heard) || typeof heard['text'] !== 'string')
        throw new UpstreamError('failed', `The provider "${provider.name}" answered with no transcription.`);
      const counted = secondsIn(heard);
      const seconds = counted ?? likely;
      const used: MediaUse = {
        ...{ units: seconds, tokens: tokensIn(heard['usage']) },
        isEstimated: counted === undefined,
      };
      return { result: { text: heard['text'].trim(), seconds }, used };
    };
    return this.calls.run({ ...call, role: 'transcription' }, { most: { units: longest, tokens: noTokens }, ask });
  }
}

const noTokens = { input: 0, output: 0 };
const maxSeconds = 1_000_000;

/** Duration that a provider counts. */
function secondsIn({ usage, duration }: Record<string, unknown>): number | undefined {
  const given = (isRecord(usage) ? usage['seconds'] : undefined) ?? duration;
  return typeof given === 'number' && given >= 0 && given <= maxSeconds ? rounded(given) : undefined;
}
