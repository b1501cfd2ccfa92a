import { Injectable } from '@nestjs/common';
import { Every } from '@parley/work-queue/worker';
import type { Provider } from './provider';
import {
  type ObservedProvider,
  type ProviderObservation,
  ProviderStatesRepository,
} from './provider-states.repository';

const recordMs = 3_000;

/** Whether providers answer, as all processes have seen it. */
@Injectable()
export class ProviderStatesService {
  private observed = new Map<string, ProviderObservation>();

  constructor(private readonly states: ProviderStatesRepository) {}

  /** Remembers the last observation of each provider; they are written together. */
  observe({ name }: Provider, seen: Omit<ProviderObservation, 'name'> = {}): void {
    const { models = this.observed.get(name)?.models, error } = seen;
    this.observed.set(name, { name, error, models });
  }

  async list(names: string[]): Promise<Map<string, ObservedProvider>> {
    await this.record();
    const states = await this.states.list(names);
    return new Map(states.map((state) => [state.id, state]));
  }

  /** Forgets what was observed of a provider, which is another one now. */
  forget(name: string): void {
    this.observed.delete(name);
  }

  @Every({ name: 'models.recordProviderStates', everyMs: recordMs })
  async record(): Promise<void> {
    const observations = [...this.observed.values()];
    this.observed = new Map();
    if (observations.length > 0) await this.states.record(observations);
  }
}
