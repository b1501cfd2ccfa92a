import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type { StreamedAnswer } from '@parley/contracts/answer-streams';
import {
  type AudioFormat,
  type AudioMetadata,
  type GenerateAudio,
  type GeneratedAudio,
  type GeneratedImage,
  type GenerateImage,
  type MediaOptions,
  type TranscribeAudio,
  type Transcription,
} from '@parley/contracts/models/media';
import { isRecord } from '@parley/contracts/is-record';
import { AnswersService } from '../generation/answers.service';
import { textOf, wantedModels } from '../generation/request-fields';
import { dataUri } from './data-uri';
import { DrawingService } from './drawing.service';
import type { MediaAnswer, MediaCall } from './media-calls.service';
import { secondsOfWav } from './sound';
import { type Speech, SpeechService } from './speech.service';
import { TranscriptionService } from './transcription.service';

const audioTypes: Record<AudioFormat, string> = { mp3: 'audio/mpeg', opus: 'audio/ogg', wav: 'audio/wav' };
/** Base64 of a part has no padding, so that parts may also be joined as texts. */
const bytesOfBase64 = 3;

interface MediaInput {
  model?: unknown;
  options?: MediaOptions | null;
  meta?: Record<string, unknown> | null;
}

/** Wire of `@botpress/cognitive` for audio and pictures. Generated content is answered as a data URI: the gateway stores it. */
@Injectable()
export class MediaService {
  constructor(
    private readonly answers: AnswersService,
    private readonly transcriptions: TranscriptionService,
    private readonly drawing: DrawingService,
    private readonly speech: SpeechService,
  ) {}

  transcribeAudio(caller: BotCaller, input: TranscribeAudio): Promise<Transcription> {
    return this.answers.whole(caller, async (signal) => {
      const sound = await this.transcriptions.fetch(input.url, 'url', signal);
      const answer = await this.transcriptions.transcribe(callOf(caller, input, signal), sound);
      const { text: output, seconds: durationSeconds } = answer.result;
      return { output, metadata: { ...metadataOf(answer, input), durationSeconds } };
    });
  }

  generateImage(caller: BotCaller, input: GenerateImage): Promise<GeneratedImage> {
    return this.answers.whole(caller, async (signal) => {
      const answer = await this.drawing.draw(callOf(caller, input, signal), input);
      const { type, bytes } = answer.result;
      const metadata = {
        ...{ ...metadataOf(answer, input), size: input.size ?? 'auto', format: type.slice('image/'.length) },
        ...(input.quality && { quality: input.quality }),
      };
      return { output: { imageUrl: dataUri(type, bytes) }, metadata };
    });
  }

  generateAudio(caller: BotCaller, input: GenerateAudio): Promise<GeneratedAudio> {
    return this.answers.whole(caller, async (signal) => {
      const answer = await this.speech.speak(callOf(caller, input, signal), input);
      return { output: { audioUrl: audioOf(answer, input) }, metadata: audioMetadata(answer, input) };
    });
  }

  /** JSON lines with the audio in base64. The gateway recognises the last one by its first field. */
  generateAudioStream(caller: BotCaller, input: GenerateAudio): Promise<StreamedAnswer> {
    return this.answers.stream(caller, 'application/x-ndjson; charset=utf-8', async (sender) => {
      let rest: Buffer = Buffer.alloc(0);
      const write = (bytes: Buffer) => sender.write(lineOf({ audio: bytes.toString('base64'), finished: false }));
      const answer = await this.speech.speak(callOf(caller, input, sender.signal), input, async (part) => {
        const bytes = Buffer.concat([rest, part]);
        const whole = bytes.length - (bytes.length % bytesOfBase64);
        rest = bytes.subarray(whole);
        if (whole > 0) await write(bytes.subarray(0, whole));
      });
      if (rest.length > 0) await write(rest);
      const metadata = audioMetadata(answer, input);
      await sender.write(lineOf({ audioUrl: audioOf(answer, input), metadata, finished: true }));
    });
  }
}

function callOf(caller: BotCaller, { model, meta }: MediaInput, signal: AbortSignal): Omit<MediaCall, 'role'> {
  const { conversationId, eventId } = isRecord(meta?.['metadata']) ? meta['metadata'] : {};
  return {
    ...{ caller, signal, wanted: wantedModels(model) },
    ...{ conversationId: textOf(conversationId), eventId: textOf(eventId) },
  };
}

function metadataOf({ provider, model, cost, latencyMs, fallbackPath }: MediaAnswer<unknown>, { options }: MediaInput) {
  return {
    ...{ provider, model, cost, latency: latencyMs, cached: false },
    ...(options?.requestId && { requestId: options.requestId }),
    ...(fallbackPath.length > 0 && { fallbackPath }),
  };
}

function audioMetadata(answer: MediaAnswer<Speech>, input: GenerateAudio): AudioMetadata {
  const { voice, bytes } = answer.result;
  const durationSeconds = secondsOfWav(bytes);
  return {
    ...{ ...metadataOf(answer, input), voice, format: input.format ?? 'mp3', characterCount: [...input.input].length },
    ...(durationSeconds !== undefined && { durationSeconds }),
  };
}

function audioOf({ result }: MediaAnswer<Speech>, { format }: GenerateAudio): string {
  return dataUri(audioTypes[format ?? 'mp3'], result.bytes);
}

function lineOf(part: object): string {
  return `${JSON.stringify(part)}\n`;
}
