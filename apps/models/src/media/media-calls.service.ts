import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { unavailable } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';
import type { MediaRole } from '@parley/contracts/models/providers';
import { inSpan } from '@parley/tracing/tracing';
import { traceIdOf } from '@parley/tracing/traceparent';
import { BudgetsService, payerOf, type PlannedCall } from '../budgets/budgets.service';
import { inBillionths, roundedDollars } from '../budgets/money';
import { isCount } from '../generation/completion';
import { idOf, type ProviderModel } from '../providers/provider';
import { OutcomesService } from '../providers/outcomes.service';
import { ProviderLimitsService } from '../providers/provider-limits.service';
import { type Candidate, ProvidersService } from '../providers/providers.service';
import type { UpstreamError } from '../providers/upstream-error';

export interface MediaCall {
  caller: BotCaller;
  role: MediaRole;
  /** Names of models, in order of preference. */
  wanted: string[];
  conversationId?: string;
  eventId?: string;
  signal: AbortSignal;
}

/** A call is paid for its seconds, pictures or characters, and tokens where a provider counts them. */
export interface MediaUse {
  units: number;
  tokens: { input: number; output: number };
  isEstimated: boolean;
}

export interface MediaAnswer<Result> {
  result: Result;
  provider: string;
  /** `<provider>:<model>`. */
  model: string;
  /** US dollars. */
  cost: number;
  latencyMs: number;
  fallbackPath: string[];
}

/** Asks one provider. */
export interface MediaWork<Result> {
  /** The most that the call can use. */
  most: Pick<MediaUse, 'units' | 'tokens'>;
  ask: (candidate: Candidate) => Promise<{ result: Result; used: MediaUse }>;
  /** Whether a part of the answer was handed on: no other provider may answer any more. */
  hasBegun?: () => boolean;
}

const outputTypes: Record<MediaRole, string> = { transcription: 'text', image: 'image', speech: 'speech' };
/** Seconds, pictures and characters in the unit of a price. */
const unitsOfPrice: Record<MediaRole, number> = { transcription: 60, image: 1, speech: 1e6 };

/** Calls of models that hear, draw and speak: in order of fallback, within the budgets of the bot and its workspace. */
@Injectable()
export class MediaCallsService {
  constructor(
    private readonly providers: ProvidersService,
    private readonly limits: ProviderLimitsService,
    private readonly outcomes: OutcomesService,
    private readonly budgets: BudgetsService,
  ) {}

  /** Throws QuotaExceeded, InvalidPayload, a 503 when no provider could answer, or the reason of the signal. */
  async run<Result>(call: MediaCall, work: MediaWork<Result>): Promise<MediaAnswer<Result>> {
    const started = performance.now();
    const { caller, role, wanted } = call;
    const candidates = this.outcomes.inOrder(await this.providers.resolveMedia(wanted, role));
    const planned: PlannedCall = {
      ...{ kind: role, wanted_model: wanted.join(', ').slice(0, 4_000), trace_id: traceIdOf(caller.traceparent) },
      ...{ conversation_id: call.conversationId, event_id: call.eventId },
    };
    const payer = payerOf(caller);
    const costs = candidates.map(({ model }) => costOf(role, model, work.most));
    const most = { cost: inBillionths(Math.max(...costs)), tokens: work.most.tokens.input + work.most.tokens.output };
    return this.budgets.run({ payer, most, planned, started }, async (reservation) => {
      const hasBegun = () => work.hasBegun?.() ?? false;
      const ask = async (candidate: Candidate) => {
        try {
          return await this.attempt(candidate, call, work);
        } catch (error) {
          if (hasBegun())
            reservation.used = { cost: inBillionths(costOf(role, candidate.model, work.most)), tokens: 0 };
          throw error;
        }
      };
      const failure = (failures: UpstreamError[]) =>
        unavailable(
          `No model for ${role} could answer. ${failures.map(({ message }) => message).join(' ')}`,
          failures.at(-1),
        );
      const { candidate, answer, fallbackPath } = await this.outcomes.firstAnswer(candidates, {
        ask,
        hasBegun,
        failure,
      });
      const { result, used } = answer!;
      const { units, tokens, isEstimated } = used;
      const cost = costOf(role, candidate.model, { units, tokens });
      const latencyMs = Math.round(performance.now() - started);
      const model = idOf(candidate.provider, candidate.model);
      return {
        result: { result, provider: candidate.provider.name, model, cost, latencyMs, fallbackPath },
        amount: { cost: inBillionths(cost), tokens: tokens.input + tokens.output },
        record: {
          ...{ provider: candidate.provider.name, model, cost: inBillionths(cost), is_estimated: isEstimated },
          ...{ input_tokens: tokens.input, output_tokens: tokens.output, is_cached: false },
          ...{ fallbacks: fallbackPath.length, latency_ms: latencyMs, finish: 'stop' },
        },
      };
    });
  }

  private attempt<Result>(
    candidate: Candidate,
    { caller, role, conversationId, signal }: MediaCall,
    work: MediaWork<Result>,
  ) {
    const { provider, model } = candidate;
    const attributes = {
      'gen_ai.operation.name': 'generate_content',
      'gen_ai.output.type': outputTypes[role],
      'gen_ai.provider.name': provider.name,
      'gen_ai.request.model': model.upstream,
      'gen_ai.conversation.id': conversationId,
    };
    return inSpan({ name: `generate_content ${model.upstream}`, kind: 'client', attributes }, async (span) => {
      const leave = await this.limits.enter(provider, caller.bot.id, { signal, withinMs: provider.timeoutMs });
      const began = performance.now();
      try {
        const answer = await work.ask(candidate);
        const { tokens } = answer.used;
        span.set('gen_ai.response.model', model.upstream);
        span.set('gen_ai.usage.input_tokens', tokens.input);
        span.set('gen_ai.usage.output_tokens', tokens.output);
        span.set('gen_ai.response.finish_reasons', ['stop']);
        this.outcomes.observe(provider.name, performance.now() - began);
        return answer;
      } finally {
        leave();
      }
    });
  }
}

/** Tokens that a provider counts; none if it does not. */
export function tokensIn(usage: unknown): MediaUse['tokens'] {
  const { input_tokens: input, output_tokens: output } = isRecord(usage) ? usage : {};
  return { input: isCount(input) ? input : 0, output: isCount(output) ? output : 0 };
}

/** US dollars, rounded to a trillionth. */
function costOf(
  role: MediaRole,
  { prices }: ProviderModel,
  { units, tokens }: Pick<MediaUse, 'units' | 'tokens'>,
): number {
  if (!prices) return 0;
  const unit = { transcription: prices.minute, image: prices.picture, speech: prices.characters }[role] ?? 0;
  const cost =
    (unit * units) / unitsOfPrice[role] + (tokens.input * prices.input + tokens.output * prices.output) / 1e6;
  return roundedDollars(cost);
}
