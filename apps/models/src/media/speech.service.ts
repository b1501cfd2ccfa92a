import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import {
  type AudioFormat,
  type GenerateAudio,
  type ListVoices,
  maxAudioBytes,
  type Voices,
} from '@parley/contracts/models/media';
import type { VoiceSettings } from '@parley/contracts/models/providers';
import { countTokens } from '../generation/token-count';
import { type Candidate, ProvidersService } from '../providers/providers.service';
import { UpstreamClient } from '../providers/upstream.client';
import { UpstreamError } from '../providers/upstream-error';
import { type MediaAnswer, type MediaCall, MediaCallsService } from './media-calls.service';

/** Every server that speaks with OpenAI's API knows this voice. */
const defaultVoice = 'alloy';

export interface Speech {
  bytes: Buffer;
  voice: string;
}

/** Spoken texts. */
@Injectable()
export class SpeechService {
  constructor(
    private readonly calls: MediaCallsService,
    private readonly providers: ProvidersService,
    private readonly upstream: UpstreamClient,
  ) {}

  /** Throws like `MediaCallsService.run`. With `onPart`, an error after the first part breaks the answer off. */
  speak(
    call: Omit<MediaCall, 'role'>,
    { input, voice: wanted, speed, instructions, ...given }: GenerateAudio,
    onPart?: (bytes: Buffer) => Promise<void>,
  ): Promise<MediaAnswer<Speech>> {
    const characters = [...input].length;
    const format: AudioFormat = given.format ?? 'mp3';
    let hasBegun = false;
    const ask = async ({ provider, model }: Candidate) => {
      const voice = wanted ?? model.voices[0]?.id ?? defaultVoice;
      const body = {
        ...{ model: model.upstream, input, voice, response_format: format },
        ...(speed != null && { speed }),
        ...(instructions && { instructions }),
      };
      const answer = await this.upstream.send(provider, { path: 'audio/speech', body, signal: call.signal });
      const parts: Buffer[] = [];
      for await (const part of answer.chunks(maxAudioBytes)) {
        parts.push(part);
        if (onPart) {
          hasBegun = true;
          await onPart(part);
        }
      }
      const bytes = Buffer.concat(parts);
      if (bytes.length === 0)
        throw new UpstreamError('failed', `The provider "${provider.name}" answered with no audio.`);
      const used = { units: characters, tokens: { input: 0, output: 0 }, isEstimated: false };
      return { result: { bytes, voice }, used };
    };
    const most = { units: characters, tokens: { input: countTokens(input), output: 0 } };
    return this.calls.run({ ...call, role: 'speech' }, { most, ask, hasBegun: () => hasBegun });
  }

  /** Voices of the configuration. Throws InvalidPayload without a model that speaks, or for an unknown one. */
  async listVoices({ model: name, language }: ListVoices): Promise<Voices> {
    const candidates = await this.providers.resolveMedia(name ? [name] : [], 'speech');
    const isWanted = ({ model }: Candidate) =>
      !name || [model.name, model.upstream, ...model.aliases].includes(name.slice(name.indexOf(':') + 1));
    const wanted = candidates.filter(isWanted);
    if (wanted.length === 0)
      throw new ApiError('InvalidPayload', `The model "${name}" does not speak, or is not known.`);
    const found = new Map<string, Voices['voices'][number]>();
    for (const { provider, model } of wanted)
      for (const voice of model.voices.filter((each) => speaks(each, language))) {
        const key = `${provider.name}\n${voice.id}`;
        const known = found.get(key);
        if (known) known.models.push(model.name);
        else
          found.set(key, {
            ...voice,
            displayName: voice.displayName ?? voice.id,
            provider: provider.name,
            models: [model.name],
          });
      }
    return { voices: [...found.values()] };
  }
}

function speaks({ languages = [] }: VoiceSettings, language: string | undefined): boolean {
  const wanted = language?.toLowerCase();
  return !wanted || languages.some((each) => `${each.toLowerCase()}-`.startsWith(`${wanted}-`));
}
