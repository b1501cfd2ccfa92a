import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { recordIn } from '@parley/contracts/is-record';
import type { CreateEmbeddings, Embeddings } from '@parley/contracts/models/openai';
import { inSpan } from '@parley/tracing/tracing';
import { traceIdOf } from '@parley/tracing/traceparent';
import { BudgetsService, payerOf, type PlannedCall } from '../budgets/budgets.service';
import { inBillionths } from '../budgets/money';
import { isCount } from '../generation/completion';
import { countTokens } from '../generation/token-count';
import { idOf, type Provider } from '../providers/provider';
import { ProviderStatesService } from '../providers/provider-states.service';
import { ProviderLimitsService } from '../providers/provider-limits.service';
import { type Candidate, ProvidersService } from '../providers/providers.service';
import { UpstreamClient } from '../providers/upstream.client';
import { UpstreamError } from '../providers/upstream-error';

/** Characters of an answer. */
const maxAnswerLength = 64_000_000;

/** Embeddings by the provider that has the model. Vectors of models differ, so no other model answers in its place. */
@Injectable()
export class EmbeddingsService {
  constructor(
    private readonly providers: ProvidersService,
    private readonly upstream: UpstreamClient,
    private readonly limits: ProviderLimitsService,
    private readonly states: ProviderStatesService,
    private readonly budgets: BudgetsService,
  ) {}

  /** Throws QuotaExceeded, InvalidPayload or a 503. */
  async create(caller: BotCaller, input: CreateEmbeddings, signal: AbortSignal): Promise<Embeddings> {
    const started = performance.now();
    const { provider, model } = await this.providers.find(input.model);
    const tokens = countTokens(JSON.stringify(input.input));
    const priced = (count: number) => inBillionths((count * (model.prices?.input ?? 0)) / 1e6);
    const planned: PlannedCall = {
      ...{ kind: 'embeddings', wanted_model: input.model, provider: provider.name, model: idOf(provider, model) },
      trace_id: traceIdOf(caller.traceparent),
    };
    const most = { cost: priced(tokens), tokens };
    try {
      return await this.budgets.run({ payer: payerOf(caller), most, planned, started }, async () => {
        const body = { ...input, model: model.upstream };
        const { embeddings, counted } = await this.embed({ provider, model }, caller.bot.id, body, signal);
        const used = counted ?? tokens;
        const cost = priced(used);
        return {
          result: embeddings,
          amount: { cost, tokens: used },
          record: {
            ...{ input_tokens: used, output_tokens: 0, cost },
            ...{ is_estimated: counted === undefined, is_cached: false, fallbacks: 0, finish: 'stop' },
            latency_ms: Math.round(performance.now() - started),
          },
        };
      });
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      if (error.failure === 'refused') throw new ApiError('InvalidPayload', error.message, { cause: error });
      throw unavailable(error.message, error);
    }
  }

  private embed({ provider, model }: Candidate, botId: string, body: object, signal: AbortSignal) {
    const attributes = {
      'gen_ai.operation.name': 'embeddings',
      'gen_ai.provider.name': provider.name,
      'gen_ai.request.model': model.upstream,
    };
    return inSpan({ name: `embeddings ${model.upstream}`, kind: 'client', attributes }, async (span) => {
      const embeddings = recordIn(await this.ask(provider, botId, body, signal));
      if (!embeddings || !Array.isArray(embeddings['data']))
        throw new UpstreamError('failed', `The provider "${provider.name}" answered with no embeddings.`);
      const { prompt_tokens: tokens } = (embeddings['usage'] ?? {}) as { prompt_tokens?: unknown };
      const counted = isCount(tokens) ? tokens : undefined;
      span.set('gen_ai.response.model', model.upstream);
      if (counted !== undefined) span.set('gen_ai.usage.input_tokens', counted);
      return { embeddings: embeddings as unknown as Embeddings, counted };
    });
  }

  /** Text of the answer. Throws UpstreamError. */
  private async ask(provider: Provider, botId: string, body: object, signal: AbortSignal): Promise<string> {
    const leave = await this.limits.enter(provider, botId, { signal, withinMs: provider.timeoutMs });
    try {
      const answer = await this.upstream.send(provider, { path: 'embeddings', body, signal });
      const text = await answer.text(maxAnswerLength);
      this.states.observe(provider);
      return text;
    } catch (error) {
      if (error instanceof UpstreamError && error.failure !== 'refused')
        this.states.observe(provider, { error: error.message });
      throw error;
    } finally {
      leave();
    }
  }
}
