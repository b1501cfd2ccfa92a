import { Injectable } from '@nestjs/common';
import { SecretBox } from '@parley/secrets/secret-box';
import { ModelsConfig } from '../config';
import type { Provider } from './provider';
import { readProviderFile } from './provider-file';
import { defaultConcurrency, toProvider } from './provider-settings';
import { ProvidersRepository, type StoredProvider } from './providers.repository';
import { readScript } from './script';

const scriptedRoles = { transcription: 'scripted', image: 'scripted', speech: 'scripted' };
/** Changes of another process are seen after this time. */
const maxAgeMs = 1_000;

interface Known {
  provider: Provider;
  /** JSON text of its row. */
  row: string;
}

/** Providers that operators have set, then those of the configuration. */
@Injectable()
export class KnownProvidersService {
  readonly configured: Provider[];
  private known: Known[] = [];
  private checkedAt = -Infinity;
  private check?: Promise<void>;

  constructor(
    private readonly config: ModelsConfig,
    private readonly stored: ProvidersRepository,
    private readonly box: SecretBox,
  ) {
    this.configured = configuredProviders(config);
  }

  /** In order of fallback. A provider is the same object until it changes. */
  async list(): Promise<Provider[]> {
    if (performance.now() - this.checkedAt > maxAgeMs) {
      this.check ??= this.refresh().finally(() => (this.check = undefined));
      await this.check;
    }
    const providers = this.known.map(({ provider }) => provider);
    const isNew = ({ name }: Provider) => !providers.some((each) => each.name === name);
    return [...providers, ...this.configured.filter(isNew)];
  }

  isConfigured(name: string): boolean {
    return this.configured.some((provider) => provider.name === name);
  }

  /** Reads what operators have set: after a change, and for `list`. */
  async refresh(): Promise<void> {
    const startedAt = performance.now();
    const rows = await this.stored.list();
    // An older answer that comes later must not hide a change.
    if (startedAt < this.checkedAt) return;
    this.known = rows.map((stored) => {
      const row = JSON.stringify(stored);
      return this.known.find((each) => each.row === row) ?? { row, provider: this.open(stored) };
    });
    this.checkedAt = startedAt;
  }

  private open({ id: name, sealed_key: sealedKey, settings }: StoredProvider): Provider {
    const common = { name, timeoutMs: this.config.completionsTimeoutMs };
    if (sealedKey === null) return toProvider(settings, common);
    try {
      return toProvider(settings, { ...common, key: this.box.open(sealedKey) });
    } catch {
      const problem = 'has a key that this process cannot decrypt: PARLEY_FORMER_SECRET_KEYS lacks a key';
      return { ...toProvider(settings, common), problem };
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
    return [
      { ...common, name: 'scripted', url: '', roles: scriptedRoles, script: readScript(config.completionsScriptFile) },
    ];
  if (config.completionsProvidersFile) return readProviderFile(config.completionsProvidersFile, timeoutMs, process.env);
  if (!config.completionsUrl) return [];
  const roles = {
    auto: config.completionsModelBalanced,
    best: config.completionsModelAccurate,
    fast: config.completionsModelInexpensive,
    vision: config.completionsModelVision,
    transcription: config.completionsModelTranscription,
    image: config.completionsModelImage,
    speech: config.completionsModelSpeech,
  };
  return [{ ...common, name: 'default', url: config.completionsUrl, key: config.completionsApiKey, roles }];
}
