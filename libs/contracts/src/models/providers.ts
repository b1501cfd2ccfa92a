import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsString,
  IsUrl,
  Matches,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { operators } from '../access';
import { ListOf, MapOf, Nested, Nullable, Optional, OrNull } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';
import { PathParam } from '../query-fields';

export const abilities = [
  'images',
  'audio',
  'tools',
  'transcription',
  'speech',
  'imageGeneration',
  'embeddings',
] as const;
export type Ability = (typeof abilities)[number];

export const modelRoles = ['auto', 'best', 'fast', 'vision'] as const;
export type ModelRole = (typeof modelRoles)[number];

/** Roles of models that hear, draw and speak. Bots name a model, or get that of the role. */
export const mediaRoles = ['transcription', 'image', 'speech'] as const;
export type MediaRole = (typeof mediaRoles)[number];

export const genders = ['male', 'female', 'neutral'] as const;

export const providerName = /^[a-z][a-z0-9-]{0,39}$/;
const testTimeoutMs = 15_000;

/** US dollars. */
export class ModelPrices {
  /** For a million tokens; 0 if absent. */
  @Optional() @IsNumber() @Min(0) @Max(1_000_000) input?: number;
  @Optional() @IsNumber() @Min(0) @Max(1_000_000) output?: number;

  /** For a minute of transcribed audio. */
  @Optional() @IsNumber() @Min(0) @Max(1_000_000) minute?: number;

  /** For a generated picture. */
  @Optional() @IsNumber() @Min(0) @Max(1_000_000) picture?: number;

  /** For a million characters of spoken text. */
  @Optional() @IsNumber() @Min(0) @Max(1_000_000) characters?: number;
}

export class VoiceSettings {
  /** Name at the provider. */
  @IsString() @Matches(/^\S{1,200}$/) id!: string;

  @Optional() @IsString() @MaxLength(200) displayName?: string;
  @Optional() @IsIn(genders) gender?: (typeof genders)[number];
  @Optional() @IsString() @MaxLength(1_000) description?: string;

  /** Language tags such as `en` or `pt-BR`. */
  @Optional()
  @IsArray()
  @ArrayMaxSize(100)
  @IsString({ each: true })
  @MaxLength(35, { each: true })
  languages?: string[];
}

export class ModelSettings {
  /** Name that bots use. */
  @IsString() @Matches(/^\S{1,200}$/) name!: string;

  /** Name at the provider, if it differs. */
  @Optional() @IsString() @MaxLength(200) upstream?: string;

  @Optional()
  @IsArray()
  @ArrayMaxSize(100)
  @IsString({ each: true })
  @MaxLength(200, { each: true })
  aliases?: string[];

  /** Longest prompt and longest answer, in tokens. */
  @Optional() @IsInt() @Min(1) @Max(1_000_000_000) context?: number;
  @Optional() @IsInt() @Min(1) @Max(1_000_000_000) maxOutput?: number;

  /** Without prices, costs are 0. */
  @Optional() @Nested(ModelPrices) prices?: ModelPrices;
  @Optional() @IsArray() @IsIn(abilities, { each: true }) abilities?: Ability[];
  @Optional() @IsArray() @ArrayMaxSize(100) @IsString({ each: true }) @MaxLength(200, { each: true }) tags?: string[];

  /** Voices of a model that speaks. The first one speaks if a request names none. */
  @Optional() @ListOf(VoiceSettings, { maxItems: 200 }) voices?: VoiceSettings[];
}

export class ProviderOptions {
  /** Absent or empty: the server is asked for its models. */
  @Optional() @ListOf(ModelSettings, { maxItems: 500 }) models?: ModelSettings[];

  /** Names of the models that answer as `auto`, `best`, `fast` and `vision`, and that hear, draw and speak. */
  @Optional()
  @MapOf(String, { key: new RegExp(`^(${[...modelRoles, ...mediaRoles].join('|')})$`), maxLength: 200 })
  roles?: Partial<Record<ModelRole | MediaRole, string>>;

  /** Until the first byte, and between two parts of a stream. */
  @Optional() @IsInt() @Min(100) @Max(3_600_000) timeoutMs?: number;

  /** Requests at once, in each process. */
  @Optional() @IsInt() @Min(1) @Max(1_000_000) concurrency?: number;

  /** Requests a minute, of all processes together. */
  @Optional() @IsInt() @Min(1) @Max(1_000_000) rate?: number;

  /** Field with the longest answer; older servers know only `max_tokens`. */
  @Optional() @IsIn(['max_completion_tokens', 'max_tokens']) limitField?: 'max_completion_tokens' | 'max_tokens';
}

/** Settings of a provider, in a file and in operations. */
export class ProviderSettings extends ProviderOptions {
  /** Address of a server with OpenAI's API, with or without `/v1`. It may be private. */
  @IsUrl(
    {
      protocols: ['http', 'https'],
      require_protocol: true,
      require_tld: false,
      allow_underscores: true,
      disallow_auth: true,
      allow_query_components: false,
      allow_fragments: false,
    },
    { message: '$property must be a URL such as https://api.openai.com, without user, query and fragment' },
  )
  @MaxLength(2_000)
  url!: string;
}

export class PutProvider extends ProviderSettings {
  @PathParam() name!: string;

  /**
   * Absent: the stored key stays. Required again when the URL changes: a key is never sent to an address that it was not
   * given for. `null` is no key.
   */
  @Nullable()
  @IsString()
  @Matches(/^[\x21-\x7e]{1,4000}$/, { message: '$property must have 1 to 4000 printable ASCII characters' })
  key?: string | null;
}

export class NamedProvider {
  @PathParam() name!: string;
}

export class ReorderProviders {
  /** All providers set by operators, in order of fallback. */
  @IsArray() @ArrayMinSize(1) @ArrayMaxSize(1_000) @IsString({ each: true }) names!: string[];
}

export const providerStates = ['unknown', 'reachable', 'failing'] as const;

/** Provider without its key. */
export class ListedProvider extends ProviderOptions {
  @IsString() name!: string;

  /** Without a password; empty for a script. */
  @IsString() url!: string;

  /** One of the configuration cannot be changed by operations. */
  @IsIn(['operator', 'configuration']) source!: 'operator' | 'configuration';

  @IsBoolean() hasKey!: boolean;

  /** `unknown` before the first request. */
  @IsIn(providerStates) state!: (typeof providerStates)[number];

  /** Time of the first failure after the last answer. */
  @OrNull() @IsString() failingSince!: string | null;

  @OrNull() @IsString() lastError!: string | null;
  @OrNull() @IsString() lastErrorAt!: string | null;

  /** Names that the server listed when it was asked last. */
  @IsArray() @IsString({ each: true }) foundModels!: string[];
}

export class ProviderList {
  /** In order of fallback. */
  @ListOf(ListedProvider) providers!: ListedProvider[];
}

export class ProviderTest {
  /** Names that the server lists. Absent after an error. */
  @Optional() @IsArray() @IsString({ each: true }) models?: string[];

  /** Models of the settings that the server does not list. */
  @IsArray() @IsString({ each: true }) missing!: string[];

  @Optional() @IsString() error?: string;
  @IsInt() latencyMs!: number;
}

/** Providers of language models, for operators. Those that operators set come before those of the configuration. */
export const providers = {
  list: operation({
    subject: 'models.providers.list',
    route: 'GET /operator/models/providers',
    summary: 'Lists the providers of language models in order of fallback, with their state and without their keys.',
    access: operators,
    input: Empty,
    output: ProviderList,
  }),
  put: operation({
    subject: 'models.providers.put',
    route: 'PUT /operator/models/providers/{name}',
    summary: 'Creates a provider of language models, or replaces the settings of the one with this name.',
    access: operators,
    input: PutProvider,
    output: ListedProvider,
  }),
  delete: operation({
    subject: 'models.providers.delete',
    route: 'DELETE /operator/models/providers/{name}',
    summary: 'Deletes a provider of language models, with its key.',
    access: operators,
    input: NamedProvider,
    output: Empty,
  }),
  reorder: operation({
    subject: 'models.providers.reorder',
    route: 'POST /operator/models/providers/order',
    summary: 'Sets the order of fallback of the providers that operators have set.',
    access: operators,
    input: ReorderProviders,
    output: ProviderList,
  }),
  test: operation({
    subject: 'models.providers.test',
    route: 'POST /operator/models/providers/{name}/test',
    summary: 'Asks a provider for its models, and answers what it lists or why it could not.',
    access: operators,
    input: NamedProvider,
    output: ProviderTest,
    timeoutMs: testTimeoutMs,
  }),
};
