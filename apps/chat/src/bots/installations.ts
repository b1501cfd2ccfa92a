import type { ResolvedBotDefinition, ResolvedInstallation } from '@parley/contracts/admin/bot-definitions';

/**
 * Enabled installation with this alias, otherwise the only one of the integration with this name. `own` is the alias of
 * the caller: if it matches, it wins.
 */
export function namedInstallation(
  { installations }: ResolvedBotDefinition,
  aliasOrName: string,
  own: string | null,
): ResolvedInstallation | undefined {
  const enabled = installations.filter((installation) => installation.enabled);
  const self = enabled.find(({ alias }) => alias === own);
  if (self && [self.alias, self.name].includes(aliasOrName)) return self;
  const named = enabled.filter(({ name }) => name === aliasOrName);
  return enabled.find(({ alias }) => alias === aliasOrName) ?? (named.length === 1 ? named[0] : undefined);
}

/** Default installation for a channel: the only one that has it, otherwise the native chat. */
export function installationWith(
  { installations }: ResolvedBotDefinition,
  channel: string,
): ResolvedInstallation | undefined {
  const able = installations.filter(({ enabled, channels }) => enabled && channels.includes(channel));
  return able.length === 1 ? able[0] : able.find(({ isChat }) => isChat);
}

export function channelsOf(installations: ResolvedInstallation[]): string {
  const channels = installations
    .filter(({ enabled }) => enabled)
    .flatMap(({ alias, channels: names }) => names.map((name) => `${name} (of ${alias})`));
  return channels.length > 0 ? channels.join(', ') : 'none';
}
