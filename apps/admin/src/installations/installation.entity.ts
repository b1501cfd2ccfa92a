import type { BotIntegration, InstallationStatus } from '@parley/contracts/admin/bot-integrations';
import type { BindIntegration, BotPlugin, BoundInterface } from '@parley/contracts/admin/bot-plugins';
import type { HubSummary, InstallablePlugin } from '@parley/contracts/hub/resolution';
import type { SecretBox } from '@parley/secrets/secret-box';

export interface InstallationRow {
  alias: string;
  integration_id: string;
  webhook_id: string;
  enabled: boolean;
  configuration_type: string | null;
  /** Encrypted JSON; null when there is no configuration. */
  configuration: string | null;
  disabled_channels: string[];
  status: InstallationStatus;
  status_reason: string | null;
  identifier: string | null;
  summary: HubSummary;
}

/** Entities that a plugin adds to its bot, by the plugin's own names. */
export type PluginDefinition = Pick<
  InstallablePlugin,
  'states' | 'events' | 'actions' | 'userTags' | 'conversationTags' | 'messageTags'
>;

export interface PluginRow {
  alias: string;
  plugin_id: string;
  enabled: boolean;
  /** Encrypted JSON. */
  configuration: string;
  interfaces: Record<string, BoundInterface>;
  integrations: Record<string, BindIntegration>;
  summary: HubSummary;
  definition: PluginDefinition;
}

export interface InstalledRows {
  integrations: InstallationRow[];
  plugins: PluginRow[];
}

/** Registration state of an installation. This version calls no integrations, so a callable one stays pending. */
export function statusOf(enabled: boolean, isCallable: boolean): Pick<InstallationRow, 'status' | 'status_reason'> {
  if (!enabled) return { status: 'unregistered', status_reason: null };
  if (!isCallable) return { status: 'registered', status_reason: null };
  return {
    status: 'registration_pending',
    status_reason: 'Registration is pending: this version does not call integrations.',
  };
}

export function openConfiguration(box: SecretBox, sealed: string | null | undefined): Record<string, unknown> {
  return sealed ? (JSON.parse(box.open(sealed)) as Record<string, unknown>) : {};
}

export function toBotIntegration(
  { summary, ...row }: InstallationRow,
  configuration: Record<string, unknown>,
  webhookUrl: string,
): BotIntegration {
  return {
    ...fromHub(summary),
    verificationStatus: summary.verificationStatus,
    enabled: row.enabled,
    webhookUrl,
    webhookId: row.webhook_id,
    identifier: row.identifier ?? undefined,
    configurationType: row.configuration_type,
    configuration,
    status: row.status,
    statusReason: row.status_reason,
    disabledChannels: row.disabled_channels,
  };
}

export function toBotPlugin({ summary, ...row }: PluginRow, configuration: Record<string, unknown>): BotPlugin {
  return {
    ...fromHub(summary),
    readmeUrl: summary.readmeUrl,
    enabled: row.enabled,
    configuration,
    interfaces: row.interfaces,
    integrations: row.integrations,
  };
}

export function toSummary(entry: HubSummary): HubSummary {
  const { id, name, version, createdAt, updatedAt, title, description, iconUrl, readmeUrl } = entry;
  const { visibility, verificationStatus, lifecycleStatus } = entry;
  return {
    ...{ id, name, version, createdAt, updatedAt, title, description, iconUrl, readmeUrl },
    ...{ visibility, verificationStatus, lifecycleStatus },
  };
}

export function toPluginDefinition(plugin: InstallablePlugin): PluginDefinition {
  const { states, events, actions, userTags, conversationTags, messageTags } = plugin;
  return { states, events, actions, userTags, conversationTags, messageTags };
}

function fromHub(summary: HubSummary) {
  const { readmeUrl: _readmeUrl, verificationStatus: _verificationStatus, ...shown } = summary;
  return { ...shown, public: summary.visibility === 'public' };
}
