import { Inject, Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import type { ModelWarning } from '@parley/contracts/models/cognitive';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { parseJson } from '@parley/openai/response';
import { inSpan } from '@parley/tracing/tracing';
import { traceIdOf } from '@parley/tracing/traceparent';
import { ModelsConfig } from '../config';
import { type Answered, BudgetsService, payerOf, type PlannedCall, type Reservation } from '../budgets/budgets.service';
import { inBillionths } from '../budgets/money';
import type { Amount } from '../budgets/spend.repository';
import { idOf, isRole, type Prices, type Provider, type Role } from '../providers/provider';
import { ProviderLimitsService } from '../providers/provider-limits.service';
import { OutcomesService } from '../providers/outcomes.service';
import { type Candidate, ProvidersService } from '../providers/providers.service';
import type { UpstreamAnswer } from '../providers/upstream';
import { UpstreamClient } from '../providers/upstream.client';
import { UpstreamError } from '../providers/upstream-error';
import { type ChatRequest, type Completion, CompletionReader, type Delta, type Usage } from './completion';
import { ContentsService } from '../contents/contents.service';
import { PicturesService } from './pictures.service';
import { countPrompt, countTokens } from './token-count';

/** Characters of a completion in one piece. */
const maxAnswerLength = 16_000_000;
const defaultRetryMs = 5_000;

/** Request of a bot for a completion. */
export interface GenerationCall {
  caller: BotCaller;
  /** Recorded with the call; `chat` if absent. */
  kind?: string;
  /** Names of models, in order of preference. */
  wanted: string[];
  request: ChatRequest;
  /** Longest answer that the request names, in tokens. */
  maxTokens?: number;
  firstByteMs?: number;
  conversationId?: string;
  eventId?: string;
  signal: AbortSignal;
}

/** Part of a streamed answer, as the provider sent it. */
export interface Part {
  /** JSON text of a chunk of OpenAI's API; of a whole completion, if the provider does not stream. */
  text: string;
  delta: Delta;
  kind: 'chunk' | 'usage' | 'whole';
}

export interface Generation {
  completion: Completion;
  provider: string;
  /** `<provider>:<model>`. */
  model: string;
  usage: Usage;
  /** US dollars. */
  costs: Usage;
  isEstimated: boolean;
  latencyMs: number;
  firstTokenMs?: number;
  warnings: ModelWarning[];
  fallbackPath: string[];
  /** JSON text of an answer in one piece. */
  text?: string;
}

interface Attempt extends Candidate {
  call: GenerationCall;
  /** Estimated tokens of the prompt. */
  promptTokens: number;
  /** Receives the parts of a stream, in order. */
  onParts?: (parts: Part[]) => Promise<void>;
  reservation: Reservation;
  started: number;
  /** Set once a part was handed on: no other provider may answer any more. */
  firstTokenMs?: number;
}

/** Asks the providers for a completion, in order of fallback, within the budgets of the bot and its workspace. */
@Injectable()
export class GenerationService {
  private readonly observeFirst: (provider: string, durationMs: number) => void;

  constructor(
    private readonly providers: ProvidersService,
    private readonly upstream: UpstreamClient,
    private readonly limits: ProviderLimitsService,
    private readonly outcomes: OutcomesService,
    private readonly budgets: BudgetsService,
    private readonly pictures: PicturesService,
    private readonly contents: ContentsService,
    private readonly config: ModelsConfig,
    @Inject(platformToken) { metrics }: Platform,
  ) {
    this.observeFirst = metrics.histogram(
      'parley_model_first_token_seconds',
      'Time to the first token of streamed calls of models.',
      'provider',
    );
  }

  /**
   * Throws QuotaExceeded, InvalidPayload, a 503 when no provider could answer, or the reason of the signal. With `onParts`, an
   * error after the first part breaks the answer off.
   */
  async generate(asked: GenerationCall, onParts?: Attempt['onParts']): Promise<Generation> {
    const started = performance.now();
    const call = { ...asked, request: await this.pictures.inline(asked.request, asked.signal) };
    const { bot, traceparent } = call.caller;
    const payer = payerOf(call.caller);
    const candidates = this.outcomes.inOrder(await this.providers.resolve(call.wanted, roleOf(call)));
    const planned: PlannedCall = {
      kind: call.kind ?? 'chat',
      wanted_model: call.wanted.join(', '),
      conversation_id: call.conversationId,
      event_id: call.eventId,
      trace_id: traceIdOf(traceparent),
    };
    const promptTokens = countPrompt(call.request);
    const most = this.most(call, promptTokens, candidates);
    let callId = '';
    const generation = await this.budgets.run({ payer, most, planned, started }, async (reservation) => {
      callId = reservation.id;
      const common = { call, promptTokens, onParts, reservation, started };
      const result = await this.firstAnswer(candidates.map((candidate) => ({ ...candidate, ...common })));
      return { result, amount: amountOf(result), record: recordOf(result) };
    });
    // Pictures by URL as they were sent.
    await this.contents.keep(bot.id, callId, asked.request, generation.completion);
    return generation;
  }

  private async firstAnswer(attempts: Attempt[]): Promise<Generation> {
    const { candidate, answer, failures, fallbackPath } = await this.outcomes.firstAnswer(attempts, {
      ask: (attempt) => this.attempt(attempt),
      hasBegun: ({ firstTokenMs }) => firstTokenMs !== undefined,
      allowsRefusedContent: true,
      failure: allFailed,
    });
    if (!answer) return { ...filtered(candidate), fallbackPath };
    const warnings = candidate.warning ? [candidate.warning] : [];
    if (failures.length > 0 && !candidate.warning)
      warnings.push({ type: 'fallback_used', message: `${failures.at(-1)!.message} "${answer.model}" answered.` });
    return { ...answer, warnings, fallbackPath };
  }

  private async attempt(attempt: Attempt): Promise<Omit<Generation, 'warnings' | 'fallbackPath'>> {
    const { provider, model, call } = attempt;
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': provider.name,
      'gen_ai.request.model': model.upstream,
      'gen_ai.conversation.id': call.conversationId,
    };
    return inSpan({ name: `chat ${model.upstream}`, kind: 'client', attributes }, async (span) => {
      const { signal, firstByteMs = provider.timeoutMs } = call;
      const asked = performance.now();
      const leave = await this.limits.enter(provider, call.caller.bot.id, { signal, withinMs: firstByteMs });
      const began = performance.now();
      try {
        const reader = new CompletionReader();
        const text = await this.receive(attempt, reader, began - asked);
        const { completion } = reader;
        const { usage, isEstimated } = usageOf(completion, attempt.promptTokens);
        span.set('gen_ai.response.model', model.upstream);
        span.set('gen_ai.usage.input_tokens', usage.input);
        span.set('gen_ai.usage.output_tokens', usage.output);
        span.set('gen_ai.response.finish_reasons', [completion.stopReason]);
        this.outcomes.observe(provider.name, performance.now() - began);
        if (attempt.firstTokenMs !== undefined) this.observeFirst(provider.name, attempt.firstTokenMs);
        return {
          ...{ completion, usage, isEstimated, text },
          costs: costsOf(usage, model.prices),
          provider: provider.name,
          model: idOf(provider, model),
          latencyMs: Math.round(performance.now() - attempt.started),
          firstTokenMs: attempt.firstTokenMs === undefined ? undefined : Math.round(attempt.firstTokenMs),
        };
      } finally {
        leave();
      }
    });
  }

  /** Reads the answer of one provider. Returns the text of one in one piece. */
  private async receive(attempt: Attempt, reader: CompletionReader, waitedMs: number): Promise<string | undefined> {
    const { provider, model, call, onParts } = attempt;
    const limit = call.maxTokens ?? (attempt.reservation.isLimited ? this.longestAnswer(attempt) : undefined);
    const answer = await this.upstream.send(provider, {
      path: 'chat/completions',
      body: {
        ...call.request,
        model: model.upstream,
        ...(limit !== undefined && { [provider.limitField]: limit }),
        ...(onParts && { stream: true, stream_options: { include_usage: true } }),
      },
      signal: call.signal,
      firstByteMs: call.firstByteMs && Math.max(1, call.firstByteMs - waitedMs),
    });
    if (onParts && answer.isStream) {
      await this.receiveParts(attempt, answer, reader);
      return undefined;
    }
    const text = await answer.text(maxAnswerLength);
    const delta = reader.read(parseJson(text));
    if (reader.excess) throw new UpstreamError('failed', `The provider "${provider.name}" sent ${reader.excess}.`);
    if (!delta) throw new UpstreamError('failed', `The provider "${provider.name}" answered with no completion.`);
    if (onParts) {
      attempt.firstTokenMs = performance.now() - attempt.started;
      await onParts([{ text, delta, kind: 'whole' }]);
    }
    return text;
  }

  private async receiveParts(attempt: Attempt, answer: UpstreamAnswer, reader: CompletionReader): Promise<void> {
    const { provider, model, promptTokens: prompt, reservation } = attempt;
    let tokens = 0;
    for await (const texts of answer.events()) {
      const parts = texts.map((text) => this.readPart(text, provider, reader));
      if (reader.excess) throw new UpstreamError('failed', `The provider "${provider.name}" sent ${reader.excess}.`);
      attempt.firstTokenMs ??= performance.now() - attempt.started;
      tokens += parts.reduce((sum, { delta }) => sum + countTokens(delta.output) + countTokens(delta.reasoning), 0);
      const costs = costsOf({ input: prompt, output: tokens }, model.prices);
      reservation.used = { cost: inBillionths(costs.input + costs.output), tokens: prompt + tokens };
      await attempt.onParts!(parts);
    }
    if (!reader.isFinished) throw new UpstreamError('failed', `The provider "${provider.name}" broke the stream off.`);
  }

  private readPart(text: string, provider: Provider, reader: CompletionReader): Part {
    const parsed = parseJson(text);
    const delta = reader.read(parsed);
    const { choices } = (parsed ?? {}) as { choices?: unknown[] };
    if (delta) return { text, delta, kind: choices?.length === 0 ? 'usage' : 'chunk' };
    // Some servers report a failure in the stream, others send parts without choices.
    if (parsed === null || typeof parsed !== 'object' || 'error' in parsed)
      throw new UpstreamError('failed', `The provider "${provider.name}" sent a broken part of a stream.`);
    return { text, delta: { output: '', reasoning: '' }, kind: 'chunk' };
  }

  /** The most that any candidate can cost. */
  private most(call: GenerationCall, input: number, candidates: Candidate[]): Amount {
    const each = candidates.map((candidate) => {
      const output = call.maxTokens ?? this.longestAnswer(candidate);
      const costs = costsOf({ input, output }, candidate.model.prices);
      return { cost: inBillionths(costs.input + costs.output), tokens: input + output };
    });
    return { cost: Math.max(...each.map(({ cost }) => cost)), tokens: Math.max(...each.map(({ tokens }) => tokens)) };
  }

  /** Tokens of an answer whose request names no limit, where a budget applies. */
  private longestAnswer({ model }: Candidate): number {
    return model.maxOutput ?? this.config.completionsMaxTokens;
  }
}

/** A 503 for the failure of all providers. Its metadata tells it from that of a service which is away. */
export function noModelAnswered(
  reason: 'busy' | 'failed',
  why: string,
  { retryAfterSeconds = Infinity, cause }: { retryAfterSeconds?: number; cause?: unknown } = {},
): ApiError {
  return new ApiError('Internal', `No language model could answer. ${why}`, {
    code: 503,
    retryAfterSeconds: Number.isFinite(retryAfterSeconds) ? retryAfterSeconds : defaultRetryMs / 1_000,
    metadata: { reason },
    cause,
  });
}

function allFailed(failures: UpstreamError[]): ApiError {
  const busy = failures.filter(({ failure }) => failure === 'busy');
  return noModelAnswered(busy.length > 0 ? 'busy' : 'failed', failures.map(({ message }) => message).join(' '), {
    retryAfterSeconds: Math.min(...busy.map(({ retryAfterMs = defaultRetryMs }) => Math.ceil(retryAfterMs / 1_000))),
    cause: failures.at(-1),
  });
}

/** Pictures go to the model that sees, unless the request names one. */
function roleOf({ wanted, request }: GenerationCall): Role {
  if (request.messages.some(({ content }) => Array.isArray(content) && content.some(isPicture))) return 'vision';
  return wanted.find(isRole) ?? 'auto';
}

function isPicture(part: unknown): boolean {
  return (part as { type?: unknown } | null)?.type === 'image_url';
}

function usageOf({ usage, output, reasoning, toolCalls }: Completion, promptTokens: number) {
  if (usage) return { usage, isEstimated: false };
  const answer = countTokens(output) + countTokens(reasoning) + countTokens(JSON.stringify(toolCalls));
  return { usage: { input: promptTokens, output: answer }, isEstimated: true };
}

function costsOf({ input, output }: Usage, prices: Prices = { input: 0, output: 0 }): Usage {
  return { input: dollars(input * prices.input), output: dollars(output * prices.output) };
}

/** From the price of a million tokens, without the noise of binary fractions. */
function dollars(perMillion: number): number {
  return Math.round(perMillion * 1e6) / 1e12;
}

function amountOf({ usage, costs }: Generation): Amount {
  return { cost: inBillionths(costs.input + costs.output), tokens: usage.input + usage.output };
}

function filtered({ provider, model, started }: Attempt): Omit<Generation, 'fallbackPath'> {
  return {
    completion: { output: '', reasoning: '', toolCalls: [], stopReason: 'content_filter' },
    provider: provider.name,
    model: idOf(provider, model),
    usage: { input: 0, output: 0 },
    costs: { input: 0, output: 0 },
    isEstimated: false,
    latencyMs: Math.round(performance.now() - started),
    warnings: [],
  };
}

function recordOf(generation: Generation): Answered<Generation>['record'] {
  const { usage, fallbackPath, completion } = generation;
  return {
    provider: generation.provider,
    model: generation.model,
    input_tokens: usage.input,
    output_tokens: usage.output,
    cost: amountOf(generation).cost,
    is_estimated: generation.isEstimated,
    is_cached: false,
    fallbacks: fallbackPath.length,
    latency_ms: generation.latencyMs,
    first_token_ms: generation.firstTokenMs,
    finish: completion.stopReason,
  };
}
