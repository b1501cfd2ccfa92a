import { Injectable } from '@nestjs/common';
import type { Ability, MediaRole } from '@parley/contracts/models/providers';
import type { ModelWarning } from '@parley/contracts/models/cognitive';
import { ApiError } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';
import { parseJson } from '@parley/openai/response';
import { KnownProvidersService } from './known-providers.service';
import { isRole, type Provider, type ProviderModel, type Role, unlistedModel } from './provider';
import { ProviderStatesService } from './provider-states.service';
import { UpstreamClient } from './upstream.client';
import { UpstreamError } from './upstream-error';

/** The list of a server's models is asked for again after this time, and after a failure. */
const listMs = 300_000;
const failedListMs = 15_000;
const listTimeoutMs = 5_000;
const maxListBytes = 4_000_000;
const maxListed = 1_000;
const maxNameLength = 200;
const notForText = /embed|whisper|tts|rerank|dall-e|image|moderation|speech/i;

const abilityFor: Record<MediaRole, Ability> = {
  transcription: 'transcription',
  image: 'imageGeneration',
  speech: 'speech',
};
const variables: Record<MediaRole, string> = {
  transcription: 'COMPLETIONS_MODEL_TRANSCRIPTION',
  image: 'COMPLETIONS_MODEL_IMAGE',
  speech: 'COMPLETIONS_MODEL_SPEECH',
};

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

/** Providers, and the models that they have. */
@Injectable()
export class ProvidersService {
  private readonly listings = new WeakMap<Provider, Listing>();

  constructor(
    private readonly known: KnownProvidersService,
    private readonly states: ProviderStatesService,
    private readonly upstream: UpstreamClient,
  ) {}

  /** Models of all providers, in order of fallback. */
  async list(): Promise<Candidate[]> {
    const lists = await Promise.all(
      (await this.known.list()).map(async (provider) =>
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
    const providers = await this.configured();
    const named = await Promise.all(wanted.map((name) => this.candidatesFor(providers, name)));
    const candidates = named.flat();
    const first = wanted[0]!;
    for (const provider of providers) {
      const model = await this.defaultOf(provider, role);
      const message = `The model "${first}" is not available: "${provider.name}:${model.name}" answered.`;
      candidates.push({ provider, model, warning: { type: 'fallback_used', message } });
    }
    return distinct(candidates);
  }

  /**
   * Candidates for this role, in order: models by name, then those of the role of all providers. Never empty: throws
   * InvalidPayload, which says what to configure.
   */
  async resolveMedia(wanted: string[], role: MediaRole): Promise<Candidate[]> {
    const providers = await this.configured();
    const names = wanted.filter((name) => !isRole(name));
    const named = await Promise.all(names.map((name) => this.candidatesFor(providers, name)));
    const others = await Promise.all(providers.map((provider) => this.mediaModelsOf(provider, role)));
    const candidates = distinct([...named.flat().filter((each) => mayBe(each, role)), ...others.flat()]);
    if (candidates.length === 0) throw notConfiguredFor(role);
    return candidates;
  }

  /** Whether a model is configured for this role. */
  async hasMedia(role: MediaRole): Promise<boolean> {
    const models = await Promise.all((await this.known.list()).map((provider) => this.mediaModelsOf(provider, role)));
    return models.flat().length > 0;
  }

  /** Model of this name, which no other one can replace. Throws InvalidPayload. */
  async find(name: string): Promise<Candidate> {
    const providers = await this.configured();
    const [found] = isRole(name) ? [] : await this.candidatesFor(providers, name);
    if (found) return found;
    // The part before the colon may belong to the name.
    const [first] = providers;
    if ((await this.modelsOf(first!)) === undefined) return { provider: first!, model: unlistedModel(name) };
    throw new ApiError(
      'InvalidPayload',
      `The model "${name}" is not available: GET /v1/ai/models lists those that are.`,
    );
  }

  /** Names that the server lists, at most 1,000. Throws UpstreamError. */
  async ask(provider: Provider): Promise<string[]> {
    const signal = AbortSignal.timeout(listTimeoutMs);
    try {
      const answer = await this.upstream.send(provider, { path: 'models', method: 'GET', signal });
      const body = parseJson(await answer.text(maxListBytes));
      if (!isRecord(body) || !Array.isArray(body['data']))
        throw new UpstreamError('failed', `The provider "${provider.name}" answered with no list of models.`);
      const ids = (body['data'] as unknown[]).map((each) => (isRecord(each) ? each['id'] : undefined));
      return ids.filter((id) => typeof id === 'string' && id.length <= maxNameLength).slice(0, maxListed) as string[];
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new UpstreamError(
        'slow',
        `The provider "${provider.name}" did not list its models in ${listTimeoutMs} ms.`,
      );
    }
  }

  /** Throws InvalidPayload without any provider. */
  private async configured(): Promise<Provider[]> {
    const providers = await this.known.list();
    if (providers.length === 0) throw notConfigured();
    return providers;
  }

  private async candidatesFor(providers: Provider[], name: string): Promise<Candidate[]> {
    if (isRole(name))
      return Promise.all(
        providers.map(async (provider) => ({ provider, model: await this.defaultOf(provider, name) })),
      );
    const colon = name.indexOf(':');
    const owner = colon > 0 ? providers.find((provider) => provider.name === name.slice(0, colon)) : undefined;
    const names = [name, name.slice(colon + 1)];
    const found: Candidate[] = [];
    /** Servers that do not say which models they have may have this one. */
    const possible: Candidate[] = [];
    for (const provider of owner ? [owner, ...providers.filter((each) => each !== owner)] : providers) {
      const models = await this.modelsOf(provider);
      if (!models && colon < 0) possible.push({ provider, model: unlistedModel(name) });
      const model = models?.find((each) =>
        names.some((wanted) => each.name === wanted || each.upstream === wanted || each.aliases.includes(wanted)),
      );
      if (model) found.push({ provider, model });
    }
    return [...found, ...possible];
  }

  /** Model of a role: the configured one if the server has it, else the first that generates text. */
  private async defaultOf(provider: Provider, role: Role): Promise<ProviderModel> {
    const wanted = provider.roles[role] ?? provider.roles.auto;
    const models = await this.modelsOf(provider);
    const named = models?.find(({ name, upstream }) => name === wanted || upstream === wanted);
    const first = models?.find(({ upstream }) => !notForText.test(upstream)) ?? models?.[0];
    return named ?? first ?? unlistedModel(wanted ?? 'default');
  }

  /** The configured model of a role, else those with its ability. */
  private async mediaModelsOf(provider: Provider, role: MediaRole): Promise<Candidate[]> {
    const wanted = provider.roles[role];
    const models = (await this.modelsOf(provider)) ?? [];
    const named = models.find(({ name, upstream }) => name === wanted || upstream === wanted);
    const found =
      wanted === undefined
        ? models.filter(({ abilities }) => abilities.includes(abilityFor[role]))
        : [named ?? unlistedModel(wanted)];
    return found.map((model) => ({ provider, model }));
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
      const models = await this.ask(provider);
      this.states.observe(provider, { models });
      return models.length > 0 ? models.map(unlistedModel) : undefined;
    } catch (error) {
      // A server without this list may answer all the same: the request itself will say what is wrong with the provider.
      if (!(error instanceof UpstreamError)) throw error;
      return undefined;
    }
  }
}

function distinct(candidates: Candidate[]): Candidate[] {
  const seen = new Set<string>();
  return candidates.filter(({ provider, model }) => {
    const key = `${provider.name}\n${model.upstream}`;
    return !seen.has(key) && seen.add(key);
  });
}

/** The abilities of a model that its server listed are not known. */
function mayBe({ provider, model }: Candidate, role: MediaRole): boolean {
  const isOfRole = [model.name, model.upstream].includes(provider.roles[role] ?? '');
  return isOfRole || model.abilities.includes(abilityFor[role]) || provider.models.length === 0;
}

function notConfiguredFor(role: MediaRole): ApiError {
  return new ApiError(
    'InvalidPayload',
    `No model for ${role} is configured: the operator must name one in roles.${role} of a provider, give a model the ability "${abilityFor[role]}", or set ${variables[role]} beside COMPLETIONS_URL.`,
  );
}

function notConfigured(): ApiError {
  return new ApiError(
    'InvalidPayload',
    'No language model is configured: the operator must add a provider in the console, or set COMPLETIONS_URL to a server with the API of OpenAI, such as vLLM, Ollama or OpenAI.',
  );
}
