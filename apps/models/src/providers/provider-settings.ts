import type { ProviderSettings } from '@parley/contracts/models/providers';
import type { Provider } from './provider';

export const defaultConcurrency = 512;

/** Provider with defaults for settings that are absent. */
export function toProvider(
  { url, models = [], roles = {}, limitField = 'max_completion_tokens', ...given }: ProviderSettings,
  { name, key, timeoutMs }: Pick<Provider, 'name' | 'key' | 'timeoutMs'>,
): Provider {
  return {
    ...{ name, url, key, roles, limitField },
    models: models.map(({ prices, ...model }) => ({
      ...model,
      upstream: model.upstream ?? model.name,
      aliases: model.aliases ?? [],
      abilities: model.abilities ?? [],
      tags: model.tags ?? [],
      voices: model.voices ?? [],
      ...(prices && { prices: { input: 0, output: 0, ...prices } }),
    })),
    timeoutMs: given.timeoutMs ?? timeoutMs,
    concurrency: given.concurrency ?? defaultConcurrency,
    rate: given.rate,
  };
}
