import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';
import type { PartsTranscription } from '@parley/contracts/models/cognitive';
import type { ChatRequest } from '../generation/completion';
import type { GenerationCall } from '../generation/generation.service';
import { soundType } from '../generation/request-fields';
import { ProvidersService } from '../providers/providers.service';
import type { MediaAnswer } from './media-calls.service';
import { roundedDollars } from '../budgets/money';
import { rounded } from './sound';
import { type Heard, type Sound, TranscriptionService } from './transcription.service';

const maxSounds = 16;

/** Audio in messages: models that hear get it as it is, others get its transcription. */
@Injectable()
export class HeardPartsService {
  constructor(
    private readonly providers: ProvidersService,
    private readonly transcriptions: TranscriptionService,
  ) {}

  /**
   * A model whose abilities are not known gets the audio where nothing can transcribe it. Throws InvalidPayload, which names
   * the part or what to configure, and like `MediaCallsService.run`.
   */
  async hear(
    call: GenerationCall,
    transcriptionModel?: string,
  ): Promise<{ request: ChatRequest; transcription?: PartsTranscription }> {
    const { request } = call;
    if (!request.messages.some(({ content }) => Array.isArray(content) && content.some(isSound))) return { request };
    const isHearing = await this.isHearing(call);
    const heard: MediaAnswer<Heard>[] = [];
    const replaced = async (part: unknown, field: string): Promise<unknown> => {
      if (!isSound(part)) return part;
      const sound = await this.transcriptions.fetch(part.url, `${field}.url`, call.signal);
      if (isHearing) return inputAudio(sound);
      const wanted = [transcriptionModel ?? 'auto'];
      const answer = await this.transcriptions.transcribe({ ...call, wanted }, sound);
      heard.push(answer);
      return { type: 'text', text: answer.result.text };
    };
    const messages: ChatRequest['messages'] = [];
    let count = 0;
    for (const [index, message] of request.messages.entries()) {
      const { content } = message;
      const parts: unknown[] = [];
      for (const [n, part] of (Array.isArray(content) ? (content as unknown[]) : []).entries()) {
        const field = `messages[${index}].content[${n}]`;
        count += isSound(part) ? 1 : 0;
        if (count > maxSounds)
          throw new ApiError('InvalidPayload', `${field} is one of more than ${maxSounds} parts with audio.`);
        // One after the other: nothing more is paid for after an error.
        parts.push(await replaced(part, field));
      }
      messages.push(Array.isArray(content) ? { ...message, content: parts } : message);
    }
    return { request: { ...request, messages }, transcription: summaryOf(heard) };
  }

  private async isHearing({ wanted }: GenerationCall): Promise<boolean> {
    const [first] = await this.providers.resolve(wanted, 'auto');
    const { provider, model } = first!;
    if (model.abilities.includes('audio')) return true;
    return provider.models.length === 0 && !(await this.providers.hasMedia('transcription'));
  }
}

function isSound(part: unknown): part is { url: string } {
  return isRecord(part) && part['type'] === soundType;
}

function inputAudio({ bytes, extension: format }: Sound): object {
  return { type: 'input_audio', input_audio: { data: bytes.toString('base64'), format } };
}

function summaryOf(answers: MediaAnswer<Heard>[]): PartsTranscription | undefined {
  const [first] = answers;
  if (!first) return undefined;
  const { model, provider } = first;
  return {
    ...{ model, provider, parts: answers.length },
    cost: roundedDollars(answers.reduce((sum, { cost }) => sum + cost, 0)),
    durationSeconds: rounded(answers.reduce((sum, { result }) => sum + result.seconds, 0)),
  };
}
