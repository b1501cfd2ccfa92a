import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type { StreamedAnswer } from '@parley/contracts/answer-streams';
import { ApiError } from '@parley/contracts/errors';
import { recordIn } from '@parley/contracts/is-record';
import {
  type GeneratedText,
  type GenerateText,
  generationTimeoutMs,
  type LanguageModel,
  type LanguageModels,
  type ModelWarning,
  type PartsTranscription,
} from '@parley/contracts/models/cognitive';
import type { Ability } from '@parley/contracts/models/providers';
import { traceIdOf } from '@parley/tracing/traceparent';
import { Every } from '@parley/work-queue/worker';
import { roundedDollars } from '../budgets/money';
import { CachedCallsService } from '../budgets/cached-calls.service';
import { ModelsConfig } from '../config';
import { AnswersService } from '../generation/answers.service';
import type { CompletionToolCall } from '../generation/completion';
import { type Generation, type GenerationCall, GenerationService } from '../generation/generation.service';
import { StoredAnswersRepository } from '../generation/stored-answers.repository';
import { idOf, type ProviderModel } from '../providers/provider';
import { type Candidate, ProvidersService } from '../providers/providers.service';
import { HeardPartsService } from '../media/heard-parts.service';
import { textOf, wantedModels } from '../generation/request-fields';
import { toChatRequest } from './chat-request';

const idempotencySeconds = 24 * 3_600;
const pollMs = 250;
const expiredAtOnce = 5_000;
const cleanMs = 600_000;

/** Wire of `@botpress/cognitive`. */
@Injectable()
export class CognitiveService {
  constructor(
    private readonly generation: GenerationService,
    private readonly providers: ProvidersService,
    private readonly answers: AnswersService,
    private readonly stored: StoredAnswersRepository,
    private readonly config: ModelsConfig,
    private readonly cachedCalls: CachedCallsService,
    private readonly heardParts: HeardPartsService,
  ) {}

  /** Throws like `GenerationService.generate`. */
  generateText(caller: BotCaller, input: GenerateText): Promise<GeneratedText> {
    return this.answers.whole(caller, (signal) =>
      this.once(caller, input, signal, (call, warnings) => this.generate(call, input, warnings)),
    );
  }

  /** Streams JSON lines. An error before the first one is that of the request; after it, the stream breaks off. */
  streamText(caller: BotCaller, input: GenerateText): Promise<StreamedAnswer> {
    return this.answers.stream(caller, 'application/x-ndjson; charset=utf-8', async (sender) => {
      const answer = await this.once(caller, input, sender.signal, (call, warnings) =>
        this.generate(call, input, warnings, async (output, reasoning) => {
          const delta = { ...(output && { output }), ...(reasoning && { reasoning }) };
          if (output || reasoning) await sender.write(lineOf(delta));
        }),
      );
      const { output, reasoning, toolCalls, metadata } = answer;
      // A stored answer has no parts.
      const whole = sender.isOpen ? {} : { output, reasoning };
      await sender.write(lineOf({ ...whole, toolCalls, finished: true, metadata }));
    });
  }

  async listModels(): Promise<LanguageModels> {
    return { models: (await this.providers.list()).map(toLanguageModel) };
  }

  @Every({ name: 'models.deleteExpiredAnswers', everyMs: cleanMs })
  async deleteExpired(): Promise<boolean> {
    return (await this.stored.deleteExpired(expiredAtOnce)) === expiredAtOnce;
  }

  private async generate(
    call: GenerationCall,
    input: GenerateText,
    warnings: ModelWarning[],
    onDelta?: (output: string, reasoning: string) => Promise<void>,
  ): Promise<GeneratedText> {
    const isTimed = input.options?.maxTimeToFirstToken != null;
    const onParts = onDelta
      ? async (parts: { delta: { output: string; reasoning: string } }[]) =>
          onDelta(parts.map(({ delta }) => delta.output).join(''), parts.map(({ delta }) => delta.reasoning).join(''))
      : isTimed
        ? () => Promise.resolve()
        : undefined;
    const { request, transcription } = await this.heardParts.hear(call, textOf(input.options?.transcriptionModel));
    const generation = await this.generation.generate({ ...call, request }, onParts);
    return toGeneratedText(generation, input, warnings, transcription);
  }

  /** Answers an equal or a repeated request with the stored answer. */
  private async once(
    caller: BotCaller,
    input: GenerateText,
    signal: AbortSignal,
    work: (call: GenerationCall, warnings: ModelWarning[]) => Promise<GeneratedText>,
  ): Promise<GeneratedText> {
    const { request, warnings } = toChatRequest(input);
    const { options, meta, maxTokens } = input;
    const call: GenerationCall = {
      ...{ caller, request, signal },
      wanted: wantedModels(input.model),
      maxTokens: maxTokens ?? undefined,
      firstByteMs: options?.maxTimeToFirstToken ?? undefined,
      conversationId: textOf(meta?.metadata?.['conversationId']),
      eventId: textOf(meta?.metadata?.['eventId']),
    };
    const botId = caller.bot.id;
    const repeatKey = options?.requestId ? `request:${options.requestId}` : undefined;
    const known = repeatKey && (await this.claim(botId, repeatKey, signal));
    if (known) return known;
    try {
      const answer = await this.cached(call, input, () => work(call, warnings));
      if (repeatKey) await this.stored.keep(botId, repeatKey, answer, idempotencySeconds);
      return answer;
    } catch (error) {
      if (repeatKey) await this.stored.release(botId, repeatKey);
      throw error;
    }
  }

  /** Claims the idempotency key, or waits for the answer of the request that has it. */
  private async claim(botId: string, key: string, signal: AbortSignal): Promise<GeneratedText | undefined> {
    const deadline = Date.now() + generationTimeoutMs;
    while (!(await this.stored.claim(botId, key, generationTimeoutMs / 1_000))) {
      const known = await this.stored.find<GeneratedText>(botId, key);
      if (known) return known;
      if (Date.now() > deadline)
        throw new ApiError('OperationTimeout', 'The first request with this options.requestId is still under way.');
      await sleep(pollMs, undefined, { signal });
    }
    return undefined;
  }

  private async cached(
    call: GenerationCall,
    { options }: GenerateText,
    work: () => Promise<GeneratedText>,
  ): Promise<GeneratedText> {
    const { caller, request, wanted, maxTokens } = call;
    const seconds = this.config.completionsCacheSeconds;
    if (seconds === 0 || options?.skipCache) return work();
    const key = `equal:${createHash('sha256')
      .update(JSON.stringify([request, wanted, maxTokens]))
      .digest('base64url')}`;
    const started = performance.now();
    const known = await this.stored.find<GeneratedText>(caller.bot.id, key);
    if (known) {
      const latency = Math.round(performance.now() - started);
      this.recordCached(call, known, latency);
      const usage = { ...known.metadata.usage, inputCost: 0, outputCost: 0 };
      const { transcription: heard } = known.metadata;
      const transcription = heard && { ...heard, cost: 0 };
      return { ...known, metadata: { ...known.metadata, transcription, cached: true, cost: 0, usage, latency } };
    }
    const answer = await work();
    const isWhole = answer.metadata.stopReason === 'stop' || answer.metadata.stopReason === 'tool_calls';
    if (isWhole) await this.stored.keep(caller.bot.id, key, answer, seconds);
    return answer;
  }

  private recordCached({ caller, ...call }: GenerationCall, { metadata }: GeneratedText, latency: number): void {
    const { provider, model, stopReason } = metadata;
    this.cachedCalls.record(
      { botId: caller.bot.id, workspaceId: caller.workspace.id },
      {
        ...{ kind: 'chat', wanted_model: call.wanted.join(', '), provider, model, finish: stopReason ?? 'stop' },
        ...{ conversation_id: call.conversationId, event_id: call.eventId, trace_id: traceIdOf(caller.traceparent) },
        ...{ input_tokens: 0, output_tokens: 0, cost: 0, is_estimated: false, is_cached: true, fallbacks: 0 },
        latency_ms: latency,
      },
    );
  }
}

function lineOf(part: object): string {
  return `${JSON.stringify({ created: Math.floor(Date.now() / 1_000), ...part })}\n`;
}

function toGeneratedText(
  { completion, usage, costs, isEstimated, latencyMs, firstTokenMs, fallbackPath, ...generation }: Generation,
  { options, reasoningEffort }: GenerateText,
  given: ModelWarning[],
  transcription?: PartsTranscription,
): GeneratedText {
  const warnings = [...given, ...generation.warnings];
  const toolCalls = completion.toolCalls.map((call, index) => toToolCall(call, index, warnings));
  return {
    output: completion.output,
    ...(completion.reasoning && { reasoning: completion.reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
    metadata: {
      provider: generation.provider,
      model: generation.model,
      usage: {
        inputTokens: usage.input,
        inputCost: costs.input,
        outputTokens: usage.output,
        outputCost: costs.output,
      },
      cost: roundedDollars(costs.input + costs.output),
      cached: false,
      latency: latencyMs,
      stopReason: completion.stopReason,
      ...(firstTokenMs !== undefined && { ttft: firstTokenMs }),
      ...(options?.requestId && { requestId: options.requestId }),
      ...(reasoningEffort && { reasoningEffort }),
      ...(warnings.length > 0 && { warnings }),
      ...(fallbackPath.length > 0 && { fallbackPath }),
      ...(isEstimated && { estimated: true }),
      ...(transcription && { transcription }),
    },
  };
}

function toToolCall({ id, name, arguments: text }: CompletionToolCall, index: number, warnings: ModelWarning[]) {
  const input = text === '' ? {} : recordIn(text);
  if (!input) {
    const message = `The arguments of the call of "${name}" are not a JSON object: its input is empty.`;
    warnings.push({ type: 'provider_limitation', message });
  }
  return { id: id || `call_${index + 1}`, name, input: input ?? {} };
}

const tagOf: Partial<Record<Ability, string>> = {
  transcription: 'speech-to-text',
  imageGeneration: 'image-generation',
  speech: 'text-to-speech',
};

function tagsOf({ tags, abilities }: ProviderModel): string[] {
  return [...new Set([...tags, ...abilities.flatMap((ability) => tagOf[ability] ?? [])])];
}

function toLanguageModel({ provider, model }: Candidate): LanguageModel {
  const { name, aliases, context = 0, maxOutput = 0, prices, abilities } = model;
  return {
    id: idOf(provider, model),
    ...{ name, description: `${name} at ${provider.name}`, aliases, tags: tagsOf(model), lifecycle: 'production' },
    input: { maxTokens: context, costPer1MTokens: prices?.input ?? 0, costPerMinute: prices?.minute },
    output: { maxTokens: maxOutput, costPer1MTokens: prices?.output ?? 0 },
    capabilities: {
      supportsImages: abilities.includes('images'),
      supportsAudio: abilities.includes('audio'),
      supportsTranscription: abilities.includes('transcription'),
      supportsSearch: false,
    },
  };
}
