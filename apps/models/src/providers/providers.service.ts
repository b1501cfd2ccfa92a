import { Injectable } from '@nestjs/common';
import type { ModelWarning } from '@parley/contracts/models/cognitive';
import { ApiError } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';
import { parseJson } from '@parley/openai/response';
import { ModelsConfig } from '../config';
import { defaultConcurrency, readProviderFile } from './provider-file';
import { isRole, type Provider, type ProviderModel, type Role, unlistedModel } from './provider';
import { readScript } from './script';
import { UpstreamClient } from './upstream.client';

/** The list of a server's models is asked for again after this time, and after a failure. */
const listMs = 300_000;
const failedListMs = 15_000;
const listTimeoutMs = 5_000;
const notForText = /embed|whisper|tts|rerank|dall-e|image|moderation|speech/i;

/** Model of a provider that may answer a request. */
export interface Candidate {
  provider: Provider;
  model: ProviderModel;
  /** Set if it answers in place of the model that was asked for. */
  warning?: ModelWarning;
}

interface Listing {
  until: number;
  models: Promise<ProviderModel[] | undefined>;
}

/** Providers of the configuration, and the models that they have. */
@Injectable()
export class ProvidersService {
  private readonly providers: Provider[];
  private readonly listings = new Map<Provider, Listing>();

  constructor(
    config: ModelsConfig,
    private readonly upstream: UpstreamClient,
  ) {
    this.providers = configuredProviders(config);
  }

  /** Models of all providers, in order of fallback. */
  async list(): Promise<Candidate[]> {
    const lists = await Promise.all(
      this.providers.map(async (provider) =>
        ((await this.modelsOf(provider)) ?? []).map((model) => ({ provider, model })),
      ),
    );
    return lists.flat();
  }

  /**
   * Candidates for these models, in order: models by name, then the default models of all providers. Never empty:
   * throws InvalidPayload without any provider.
   * @param role of the default model
   */
  async resolve(wanted: string[], role: Role): Promise<Candidate[]> {
    if (this.providers.length === 0) throw notConfigured();
    const named = await Promise.all(wanted.map((name) => this.candidatesFor(name)));
    const candidates = named.flat();
    const first = wanted[0]!;
    for (const provider of this.providers) {
      const model = await this.defaultOf(provider, role);
      const message = `The model "${first}" is not available: "${provider.name}:${model.name}" answered.`;
      candidates.push({ provider, model, warning: { type: 'fallback_used', message } });
    }
    const seen = new Set<string>();
    return candidates.filter(({ provider, model }) => {
      const key = `${provider.name}\n${model.upstream}`;
      return !seen.has(key) && seen.add(key);
    });
  }

  /** Model of this name, which no other one can replace. Throws InvalidPayload. */
  async find(name: string): Promise<Candidate> {
    if (this.providers.length === 0) throw notConfigured();
    const [found] = isRole(name) ? [] : await this.candidatesFor(name);
    if (found) return found;
    // A server that does not say which models it has may have this one.
    const [first] = this.providers;
    if ((await this.modelsOf(first!)) === undefined) return { provider: first!, model: unlistedModel(name) };
    throw new ApiError(
      'InvalidPayload',
      `The model "${name}" is not available: GET /v1/ai/models lists those that are.`,
    );
  }

  private async candidatesFor(name: string): Promise<Candidate[]> {
    const { providers } = this;
    if (isRole(name))
      return Promise.all(
        providers.map(async (provider) => ({ provider, model: await this.defaultOf(provider, name) })),
      );
    const colon = name.indexOf(':');
    const owner = colon > 0 ? providers.find((provider) => provider.name === name.slice(0, colon)) : undefined;
    const names = [name, name.slice(colon + 1)];
    const found: Candidate[] = [];
    for (const provider of owner ? [owner, ...providers.filter((each) => each !== owner)] : providers) {
      const models = (await this.modelsOf(provider)) ?? [];
      const model = models.find((each) =>
        names.some((wanted) => each.name === wanted || each.upstream === wanted || each.aliases.includes(wanted)),
      );
      if (model) found.push({ provider, model });
    }
    return found;
  }

  /** Model of a role: the configured one if the server has it, else the first that generates text. */
  private async defaultOf(provider: Provider, role: Role): Promise<ProviderModel> {
    const wanted = provider.roles[role] ?? provider.roles.auto;
    const models = await this.modelsOf(provider);
    const named = models?.find(({ name, upstream }) => name === wanted || upstream === wanted);
    const first = models?.find(({ upstream }) => !notForText.test(upstream)) ?? models?.[0];
    return named ?? first ?? unlistedModel(wanted ?? 'default');
  }

  /** Undefined if the server does not say which models it has. */
  private modelsOf(provider: Provider): Promise<ProviderModel[] | undefined> {
    if (provider.models.length > 0) return Promise.resolve(provider.models);
    const known = this.listings.get(provider);
    if (known && known.until > Date.now()) return known.models;
    const listing: Listing = { until: Date.now() + listMs, models: this.fetchModels(provider) };
    this.listings.set(provider, listing);
    void listing.models.then((models) => {
      if (!models) listing.until = Date.now() + failedListMs;
    });
    return listing.models;
  }

  private async fetchModels(provider: Provider): Promise<ProviderModel[] | undefined> {
    try {
      const signal = AbortSignal.timeout(listTimeoutMs);
      const answer = await this.upstream.send(provider, { path: 'models', method: 'GET', signal });
      const body = parseJson(await answer.text());
      const data = isRecord(body) && Array.isArray(body['data']) ? (body['data'] as unknown[]) : [];
      const ids = data.flatMap((each) => (isRecord(each) && typeof each['id'] === 'string' ? [each['id']] : []));
      return ids.length > 0 ? ids.map(unlistedModel) : undefined;
    } catch {
      // The request itself will say what is wrong with the provider.
      return undefined;
    }
  }
}

function configuredProviders(config: ModelsConfig): Provider[] {
  const { completionsTimeoutMs: timeoutMs } = config;
  const common = {
    models: [],
    timeoutMs,
    concurrency: defaultConcurrency,
    limitField: 'max_completion_tokens' as const,
  };
  if (config.completionsScriptFile)
    return [{ ...common, name: 'scripted', url: '', roles: {}, script: readScript(config.completionsScriptFile) }];
  if (config.completionsProvidersFile) return readProviderFile(config.completionsProvidersFile, timeoutMs, process.env);
  if (!config.completionsUrl) return [];
  const roles = {
    auto: config.completionsModelBalanced,
    best: config.completionsModelAccurate,
    fast: config.completionsModelInexpensive,
    vision: config.completionsModelVision,
  };
  return [{ ...common, name: 'default', url: config.completionsUrl, key: config.completionsApiKey, roles }];
}

function notConfigured(): ApiError {
  return new ApiError(
    'InvalidPayload',
    'No language model is configured: the operator must set COMPLETIONS_URL to a server with the API of OpenAI, such as vLLM, Ollama or OpenAI.',
  );
}
