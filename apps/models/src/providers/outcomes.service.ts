import { Inject, Injectable } from '@nestjs/common';
import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { idOf, type Provider } from './provider';
import { ProviderStatesService } from './provider-states.service';
import type { Candidate } from './providers.service';
import { UpstreamError } from './upstream-error';

/** A model that failed is asked after all others for this time. */
const failureMs = 300_000;

/** How one candidate after the other is asked. */
interface Asking<Each, Answer> {
  ask: (candidate: Each) => Promise<Answer>;
  /** Whether a part of the answer was handed on: no other provider may answer any more. */
  hasBegun: (candidate: Each) => boolean;
  /** Whether refused content is an answer without a result, in place of an error of the request. */
  allowsRefusedContent?: boolean;
  /** Error when all have failed. */
  failure: (failures: UpstreamError[]) => ApiError;
}

interface FirstAnswer<Each, Answer> {
  candidate: Each;
  /** Absent for content that the provider refuses. */
  answer?: Answer;
  failures: UpstreamError[];
  /** Models that failed before. */
  fallbackPath: string[];
}

/** Asks models in order of fallback, and remembers and counts how they have answered. */
@Injectable()
export class OutcomesService {
  readonly observe: (provider: string, durationMs: number) => void;

  /** Times until which models of a provider count as failing, by name. A provider with new settings is another one. */
  private readonly failing = new WeakMap<Provider, Map<string, number>>();

  private readonly countError: (provider: string) => void;

  constructor(
    private readonly states: ProviderStatesService,
    @Inject(platformToken) { metrics }: Platform,
  ) {
    this.observe = metrics.histogram('parley_model_seconds', 'Duration of calls of models.', 'provider');
    this.countError = metrics.counters('parley_model_errors_total', 'Failed calls of models.', 'provider');
  }

  /** Models that failed lately come last. */
  inOrder(candidates: Candidate[]): Candidate[] {
    const now = Date.now();
    const isFailing = ({ provider, model }: Candidate) => (this.failing.get(provider)?.get(model.name) ?? 0) > now;
    return [...candidates.filter((each) => !isFailing(each)), ...candidates.filter(isFailing)];
  }

  /** Throws InvalidPayload, a 503, or an error of another kind than UpstreamError at once. */
  async firstAnswer<Each extends Candidate, Answer>(
    candidates: Each[],
    { ask, hasBegun, allowsRefusedContent = false, failure }: Asking<Each, Answer>,
  ): Promise<FirstAnswer<Each, Answer>> {
    const failures: UpstreamError[] = [];
    const fallbackPath: string[] = [];
    for (const candidate of candidates) {
      const model = idOf(candidate.provider, candidate.model);
      try {
        const answer = await ask(candidate);
        this.answered(candidate);
        return { candidate, answer, failures, fallbackPath };
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        this.failed(candidate, error);
        if (error.failure === 'filtered' && allowsRefusedContent) return { candidate, failures, fallbackPath };
        if (error.failure === 'refused' || error.failure === 'filtered')
          throw new ApiError('InvalidPayload', error.message, { metadata: { model }, cause: error });
        if (hasBegun(candidate)) throw unavailable(error.message, error);
        if (error.failure !== 'full') this.remember(candidate);
        failures.push(error);
        fallbackPath.push(model);
      }
    }
    throw failure(failures);
  }

  private answered({ provider, model }: Candidate): void {
    this.failing.get(provider)?.delete(model.name);
    this.states.observe(provider);
  }

  /** Counts the failure of a provider: neither our own limit for it nor a wrong request is one. */
  private failed({ provider }: Candidate, { failure, message }: UpstreamError): void {
    if (failure !== 'full') this.countError(provider.name);
    if (!['full', 'filtered', 'refused'].includes(failure)) this.states.observe(provider, { error: message });
  }

  /** From now on, others are asked before this one. */
  private remember({ provider, model }: Candidate): void {
    const models = this.failing.get(provider) ?? new Map<string, number>();
    this.failing.set(provider, models.set(model.name, Date.now() + failureMs));
  }
}
