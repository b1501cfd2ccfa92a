import { Inject, Injectable } from '@nestjs/common';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import type { Provider } from './provider';
import { ProviderStatesService } from './provider-states.service';
import type { Candidate } from './providers.service';
import type { UpstreamError } from './upstream-error';

/** A model that failed is asked after all others for this time. */
const failureMs = 300_000;

/** Remembers and counts how models have answered. */
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

  answered({ provider, model }: Candidate): void {
    this.failing.get(provider)?.delete(model.name);
    this.states.observe(provider);
  }

  /** Counts the failure of a provider: neither our own limit for it nor a wrong request is one. */
  failed({ provider }: Candidate, { failure, message }: UpstreamError): void {
    if (failure !== 'full') this.countError(provider.name);
    if (!['full', 'filtered', 'refused'].includes(failure)) this.states.observe(provider, { error: message });
  }

  /** From now on, others are asked before this one. */
  remember({ provider, model }: Candidate): void {
    const models = this.failing.get(provider) ?? new Map<string, number>();
    this.failing.set(provider, models.set(model.name, Date.now() + failureMs));
  }
}
