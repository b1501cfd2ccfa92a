import { ArrayMinSize, IsArray, IsIn, IsInt, IsNumber, IsString, IsUrl, Matches, Min } from 'class-validator';
import { ConfigError } from '@parley/config/config';
import { ListOf, MapOf, Nested, Optional, problemsOf, toInstance } from '@parley/contracts/fields';
import { isRecord } from '@parley/contracts/is-record';
import { parsedFile } from './json-file';
import { type Ability, type Provider, roles } from './provider';

const abilities: Ability[] = ['images', 'audio', 'tools', 'transcription', 'speech', 'imageGeneration', 'embeddings'];
export const defaultConcurrency = 512;

class PricesOfFile {
  @IsNumber() @Min(0) input!: number;
  @IsNumber() @Min(0) output!: number;
}

class ModelOfFile {
  @IsString() @Matches(/^\S{1,200}$/) name!: string;
  @Optional() @IsString() upstream?: string;
  @Optional() @IsArray() @IsString({ each: true }) aliases?: string[];
  @Optional() @IsInt() @Min(1) context?: number;
  @Optional() @IsInt() @Min(1) maxOutput?: number;
  @Optional() @Nested(PricesOfFile) prices?: PricesOfFile;
  @Optional() @IsArray() @IsIn(abilities, { each: true }) abilities?: Ability[];
  @Optional() @IsArray() @IsString({ each: true }) tags?: string[];
}

class ProviderOfFile {
  @IsString() @Matches(/^[a-z][a-z0-9-]{0,39}$/) name!: string;
  @IsUrl({ require_tld: false, protocols: ['http', 'https'], require_protocol: true }) url!: string;

  /** Key, or name of the environment variable with the key. */
  @Optional() @IsString() key?: string;
  @Optional() @IsString() keyVariable?: string;

  @Optional() @ListOf(ModelOfFile) models?: ModelOfFile[];
  @Optional() @MapOf(String) roles?: Record<string, string>;
  @Optional() @IsInt() @Min(100) timeoutMs?: number;
  @Optional() @IsInt() @Min(1) concurrency?: number;
  @Optional() @IsIn(['max_completion_tokens', 'max_tokens']) limitField?: Provider['limitField'];
}

class ProvidersOfFile {
  @ListOf(ProviderOfFile) @ArrayMinSize(1) providers!: ProviderOfFile[];
}

/** Providers of a file, in order of fallback. Throws ConfigError, which names the field. */
export function readProviderFile(path: string, timeoutMs: number, env: NodeJS.ProcessEnv): Provider[] {
  const given = parsedFile(path, 'COMPLETIONS_PROVIDERS_FILE');
  const file = toInstance(ProvidersOfFile, given) as ProvidersOfFile;
  const problems = isRecord(given) ? problemsOf(file) : ['it must be an object with "providers"'];
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${path}: ${problem}.`));
  return file.providers.map((provider) => {
    const unknownRole = Object.keys(provider.roles ?? {}).find((role) => !(roles as readonly string[]).includes(role));
    if (unknownRole !== undefined)
      throw new ConfigError([
        `${path}: roles of "${provider.name}" has "${unknownRole}": use ${roles.join(', ')} only.`,
      ]);
    return toProvider(provider, timeoutMs, env);
  });
}

function toProvider(given: ProviderOfFile, timeoutMs: number, env: NodeJS.ProcessEnv): Provider {
  return {
    name: given.name,
    url: given.url,
    key: given.key ?? (given.keyVariable === undefined ? undefined : env[given.keyVariable]),
    models: (given.models ?? []).map((model) => ({
      ...model,
      upstream: model.upstream ?? model.name,
      aliases: model.aliases ?? [],
      abilities: model.abilities ?? [],
      tags: model.tags ?? [],
    })),
    roles: given.roles ?? {},
    timeoutMs: given.timeoutMs ?? timeoutMs,
    concurrency: given.concurrency ?? defaultConcurrency,
    limitField: given.limitField ?? 'max_completion_tokens',
  };
}
