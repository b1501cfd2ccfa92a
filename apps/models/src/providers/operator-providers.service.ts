import { Injectable } from '@nestjs/common';
import { ApiError, notFound } from '@parley/contracts/errors';
import {
  type ListedProvider,
  type ProviderList,
  providerName,
  type ProviderSettings,
  type ProviderTest,
  type PutProvider,
  type ReorderProviders,
} from '@parley/contracts/models/providers';
import { Database } from '@parley/persistence/database';
import { SecretBox } from '@parley/secrets/secret-box';
import { KnownProvidersService } from './known-providers.service';
import type { Provider } from './provider';
import { type ObservedProvider, ProviderStatesRepository } from './provider-states.repository';
import { ProviderStatesService } from './provider-states.service';
import { ProvidersRepository, type StoredProvider } from './providers.repository';
import { ProvidersService } from './providers.service';
import { UpstreamError } from './upstream-error';

/** Providers, as operators see and change them. No answer has a key. */
@Injectable()
export class OperatorProvidersService {
  constructor(
    private readonly database: Database,
    private readonly stored: ProvidersRepository,
    private readonly known: KnownProvidersService,
    private readonly providers: ProvidersService,
    private readonly observed: ProviderStatesService,
    private readonly states: ProviderStatesRepository,
    private readonly box: SecretBox,
  ) {}

  async list(): Promise<ProviderList> {
    await this.known.refresh();
    const [providers, stored] = await Promise.all([this.known.list(), this.stored.list()]);
    const states = await this.observed.list(providers.map(({ name }) => name));
    return {
      providers: providers.map((provider) =>
        toListed(
          provider,
          stored.find(({ id }) => id === provider.name),
          states.get(provider.name),
        ),
      ),
    };
  }

  /** Throws InvalidPayload, also for a key that would go to another address than it was given for. */
  async put({ name, key, ...settings }: PutProvider): Promise<ListedProvider> {
    if (!providerName.test(name))
      throw new ApiError('InvalidPayload', `name must match ${providerName.source}, but is "${name}".`);
    await this.database.transaction(async (tx) => {
      const former = await this.stored.findForUpdate(tx, name);
      if (!former) this.requireUnconfigured(name);
      const isElsewhere = former !== undefined && former.settings.url !== settings.url;
      if (isElsewhere && former.sealed_key !== null && key === undefined)
        throw new ApiError(
          'InvalidPayload',
          `key is missing: the URL of the provider "${name}" changes, and its key is kept for ${former.settings.url} only. Send the key, or null for none.`,
        );
      const sealedKey = key === undefined ? (former?.sealed_key ?? null) : key && this.box.seal(key);
      await this.stored.upsert(tx, { id: name, sealed_key: sealedKey, settings });
      if (isElsewhere) await this.forgetState(tx, name);
    });
    const { providers } = await this.list();
    return providers.find((provider) => provider.name === name)!;
  }

  /** Throws ResourceNotFound. */
  async delete(name: string): Promise<object> {
    await this.database.transaction(async (tx) => {
      if (!(await this.stored.findForUpdate(tx, name))) {
        this.requireUnconfigured(name);
        throw unknown(name);
      }
      await this.stored.delete(tx, name);
      await this.forgetState(tx, name);
    });
    await this.known.refresh();
    return {};
  }

  /** Throws InvalidPayload unless all providers of operators are named, each once. */
  async reorder({ names }: ReorderProviders): Promise<ProviderList> {
    await this.database.transaction(async (tx) => {
      const existing = await this.stored.lockAll(tx);
      const isComplete = names.length === existing.length && existing.every((name) => names.includes(name));
      if (!isComplete)
        throw new ApiError(
          'InvalidPayload',
          `names must have each provider that an operator has set, once: ${existing.join(', ') || 'there is none'}.`,
        );
      await this.stored.reorder(tx, names);
    });
    return this.list();
  }

  /** Throws ResourceNotFound. An error of the provider is an answer. */
  async test(name: string): Promise<ProviderTest> {
    await this.known.refresh();
    const provider = (await this.known.list()).find((each) => each.name === name);
    if (!provider) throw unknown(name);
    const started = performance.now();
    const latencyMs = () => Math.round(performance.now() - started);
    try {
      const models = await this.providers.ask(provider);
      this.observed.observe(provider, { models });
      const wanted = provider.models.map(({ upstream }) => upstream);
      return { models, missing: wanted.filter((each) => !models.includes(each)), latencyMs: latencyMs() };
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      this.observed.observe(provider, { error: error.message });
      return { error: error.message, missing: [], latencyMs: latencyMs() };
    } finally {
      await this.observed.record();
    }
  }

  /** Throws InvalidPayload. */
  private requireUnconfigured(name: string): void {
    if (this.known.isConfigured(name))
      throw new ApiError(
        'InvalidPayload',
        `The provider "${name}" is set by the configuration of models: change its variables or its file, or use another name.`,
      );
  }

  private async forgetState(tx: Parameters<ProviderStatesRepository['delete']>[0], name: string): Promise<void> {
    this.observed.forget(name);
    await this.states.delete(tx, name);
  }
}

function unknown(name: string): ApiError {
  return notFound('Provider', name);
}

function toListed(provider: Provider, stored?: StoredProvider, state?: ObservedProvider): ListedProvider {
  const { name, key } = provider;
  return {
    name,
    ...(stored?.settings ?? settingsOf(provider)),
    source: stored ? 'operator' : 'configuration',
    hasKey: stored ? stored.sealed_key !== null : key !== undefined && key !== '',
    state: !state ? 'unknown' : state.failing_since ? 'failing' : 'reachable',
    failingSince: state?.failing_since?.toISOString() ?? null,
    lastError: state?.last_error ?? null,
    lastErrorAt: state?.last_error_at?.toISOString() ?? null,
    foundModels: state?.models ?? [],
  };
}

/** Settings of a provider of the configuration, whose URL may have a password. */
function settingsOf(provider: Provider): ProviderSettings {
  const { models, roles, timeoutMs, concurrency, rate, limitField } = provider;
  return { url: shown(provider.url), models, roles, timeoutMs, concurrency, rate, limitField };
}

function shown(url: string): string {
  if (!URL.canParse(url)) return url;
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
