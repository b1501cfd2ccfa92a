import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type { StreamedAnswer } from '@parley/contracts/answer-streams';
import { isRecord } from '@parley/contracts/is-record';
import type { ChatCompletion, CreateChatCompletion, OpenAiModels } from '@parley/contracts/models/openai';
import { newId } from '@parley/persistence/ids';
import { AnswersService } from '../generation/answers.service';
import { type GenerationCall, type Generation, GenerationService, type Part } from '../generation/generation.service';
import { modelRoles } from '@parley/contracts/models/providers';
import { idOf } from '../providers/provider';
import { ProvidersService } from '../providers/providers.service';

/** Format and errors of OpenAI's API. */
@Injectable()
export class OpenAiService {
  constructor(
    private readonly generation: GenerationService,
    private readonly answers: AnswersService,
    private readonly providers: ProvidersService,
  ) {}

  /** Throws like `GenerationService.generate`. An error after the first part of a stream ends it without `[DONE]`. */
  async createChatCompletion(
    caller: BotCaller,
    input: CreateChatCompletion,
  ): Promise<ChatCompletion | (ChatCompletion & StreamedAnswer)> {
    const { model, stream, stream_options: options, max_tokens: former, max_completion_tokens: limit, ...rest } = input;
    const call: Omit<GenerationCall, 'signal'> = {
      caller,
      wanted: [model],
      request: rest,
      maxTokens: limit ?? former ?? undefined,
    };
    if (!stream)
      return this.answers.whole(caller, async (signal) =>
        toCompletion(await this.generation.generate({ ...call, signal })),
      );
    const hasUsage = options?.['include_usage'] === true;
    const streamed = await this.answers.stream(caller, 'text/event-stream; charset=utf-8', async (sender) => {
      await this.generation.generate({ ...call, signal: sender.signal }, async (parts) => {
        const events = parts.filter(({ kind }) => hasUsage || kind !== 'usage').map(toEvent);
        if (events.length > 0) await sender.write(events.join(''));
      });
      await sender.write('data: [DONE]\n\n');
    });
    return streamed as ChatCompletion & StreamedAnswer;
  }

  async listModels(): Promise<OpenAiModels> {
    const owned = (id: string, owner: string) => ({ id, object: 'model', created: 0, owned_by: owner });
    const models = (await this.providers.list()).map(({ provider, model }) =>
      owned(idOf(provider, model), provider.name),
    );
    const aliases = models.length > 0 ? modelRoles.map((role) => owned(role, 'parley')) : [];
    return { object: 'list', data: [...aliases, ...models] };
  }
}

function toCompletion({ text, completion, model, usage }: Generation): ChatCompletion {
  if (text !== undefined) return { ...(JSON.parse(text) as ChatCompletion), model } as ChatCompletion;
  const message = { role: 'assistant', content: completion.output };
  return Object.assign(
    { id: newId('chatcmpl'), choices: [{ index: 0, message, finish_reason: completion.stopReason }] },
    {
      object: 'chat.completion',
      created: Math.floor(Date.now() / 1_000),
      model,
      usage: {
        prompt_tokens: usage.input,
        completion_tokens: usage.output,
        total_tokens: usage.input + usage.output,
      },
    },
  );
}

function toEvent({ text, kind }: Part): string {
  // JSON over several lines has its line breaks between its values.
  return `data: ${kind === 'whole' ? toChunk(text) : text.replaceAll('\n', ' ')}\n\n`;
}

/** A completion in one piece as the only chunk of a stream. */
function toChunk(text: string): string {
  const completion = JSON.parse(text) as { choices: unknown[] };
  const choices = completion.choices.filter(isRecord).map(({ message, ...choice }) => ({ ...choice, delta: message }));
  return JSON.stringify({ ...completion, object: 'chat.completion.chunk', choices });
}
