import {
  type Ability,
  type MediaRole,
  type ModelPrices,
  type ModelRole,
  modelRoles,
  type VoiceSettings,
} from '@parley/contracts/models/providers';
import type { Script } from './script';

export type Prices = ModelPrices & { input: number; output: number };
export type Role = ModelRole;

export interface ProviderModel {
  /** Name that bots use, without the provider. */
  name: string;
  /** Name at the provider. */
  upstream: string;
  aliases: string[];
  /** Longest prompt and longest answer, in tokens. */
  context?: number;
  maxOutput?: number;
  prices?: Prices;
  abilities: Ability[];
  tags: string[];
  voices: VoiceSettings[];
}

/** Server with OpenAI's API. */
export interface Provider {
  name: string;
  /** With or without `/v1`. Empty for a script. */
  url: string;
  /** Fixed answers in place of a server. */
  script?: Script;
  key?: string;
  /** Reason for which it cannot be asked. */
  problem?: string;
  /** Empty: the server is asked for its models. */
  models: ProviderModel[];
  /** Model names by role. */
  roles: Partial<Record<Role | MediaRole, string>>;
  timeoutMs: number;
  /** Requests at once, in one process. */
  concurrency: number;
  /** Requests a minute, of all processes together. */
  rate?: number;
  /** Field of the request with the longest answer; older servers know only `max_tokens`. */
  limitField: 'max_completion_tokens' | 'max_tokens';
}

export function isRole(name: string): name is Role {
  return (modelRoles as readonly string[]).includes(name);
}

/** Model as bots see it: `<provider>:<model>`. */
export function idOf(provider: Pick<Provider, 'name'>, model: Pick<ProviderModel, 'name'>): string {
  return `${provider.name}:${model.name}`;
}

export function unlistedModel(name: string): ProviderModel {
  return { name, upstream: name, aliases: [], abilities: [], tags: [], voices: [] };
}
