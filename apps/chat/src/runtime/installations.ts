import type { BotRuntime, RuntimeInstallation } from '@parley/contracts/admin/runtime';

/**
 * The enabled installation of this alias, else the only one of an integration with this name. An installation that says
 * either of itself means itself: `own` is the alias of who asks.
 */
export function namedInstallation(
  { installations }: BotRuntime,
  aliasOrName: string,
  own: string | null,
): RuntimeInstallation | undefined {
  const enabled = installations.filter((installation) => installation.enabled);
  const self = enabled.find(({ alias }) => alias === own);
  if (self && [self.alias, self.name].includes(aliasOrName)) return self;
  const named = enabled.filter(({ name }) => name === aliasOrName);
  return enabled.find(({ alias }) => alias === aliasOrName) ?? (named.length === 1 ? named[0] : undefined);
}

/** Where a conversation on this channel belongs when nobody says it: the only one that has it, else the chat. */
export function installationWith({ installations }: BotRuntime, channel: string): RuntimeInstallation | undefined {
  const able = installations.filter(({ enabled, channels }) => enabled && channels.includes(channel));
  return able.length === 1 ? able[0] : able.find(({ isChat }) => isChat);
}

/** Every channel that a conversation can be on, as a person reads it. */
export function channelsOf(installations: RuntimeInstallation[]): string {
  const channels = installations
    .filter(({ enabled }) => enabled)
    .flatMap(({ alias, channels: names }) => names.map((name) => `${name} (of ${alias})`));
  return channels.length > 0 ? channels.join(', ') : 'none';
}
