import { ArrayMinSize, IsString, Matches } from 'class-validator';
import { ConfigError } from '@parley/config/config';
import { ListOf, Optional, problemsOf, toInstance } from '@parley/contracts/fields';
import { isRecord } from '@parley/contracts/is-record';
import { providerName, ProviderSettings } from '@parley/contracts/models/providers';
import { parsedFile } from './json-file';
import type { Provider } from './provider';
import { toProvider } from './provider-settings';

class ProviderOfFile extends ProviderSettings {
  @IsString() @Matches(providerName) name!: string;

  /** Key, or name of the environment variable with the key. */
  @Optional() @IsString() key?: string;
  @Optional() @IsString() keyVariable?: string;
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
  return file.providers.map(({ name, key, keyVariable, ...settings }) =>
    toProvider(settings, { name, timeoutMs, key: key ?? (keyVariable === undefined ? undefined : env[keyVariable]) }),
  );
}
