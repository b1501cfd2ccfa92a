import type { BotIntegration, InstallationStatus } from '@parley/contracts/admin/bot-integrations';
import type { BindIntegration, BotPlugin, BoundInterface } from '@parley/contracts/admin/bot-plugins';
import type { RecurringEventDefinition } from '@parley/contracts/definition';
import type { HubSummary, InstallablePlugin } from '@parley/contracts/hub/resolution';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import type { SecretBox } from '@parley/secrets/secret-box';
import { Column, Entity, ForeignKey, Index } from 'typeorm';

/** Installation of an integration in a bot. */
@Entity('installation')
@Index('installation_integration', ['integration_id'])
export class InstallationEntity {
  @PrimaryIdColumn()
  @ForeignKey('BotEntity', { onDelete: 'CASCADE' })
  bot_id!: string;

  @PrimaryIdColumn()
  alias!: string;

  @IdColumn()
  integration_id!: string;

  @IdColumn({ unique: true })
  webhook_id!: string;

  @Column('boolean')
  enabled!: boolean;

  @Column('text', { nullable: true })
  configuration_type!: string | null;

  /** Encrypted JSON; null when there is no configuration. */
  @Column('text', { nullable: true })
  configuration!: string | null;

  @Column('jsonb', { default: [] })
  disabled_channels!: string[];

  @Column('text')
  status!: InstallationStatus;

  @Column('text', { nullable: true })
  status_reason!: string | null;

  @Column('text', { nullable: true })
  identifier!: string | null;

  /** Summary of the integration in the hub as of its last change. */
  @Column('jsonb')
  summary!: HubSummary;

  @TimestampColumn()
  created_at!: Date;

  @TimestampColumn()
  updated_at!: Date;
}

/** Entities that a plugin adds to its bot, by the plugin's own names. */
export type PluginDefinition = Pick<
  InstallablePlugin,
  'states' | 'events' | 'actions' | 'userTags' | 'conversationTags' | 'messageTags'
>;

/** Installation of a plugin in a bot. */
@Entity('bot_plugin')
@Index('bot_plugin_plugin', ['plugin_id'])
export class BotPluginEntity {
  @PrimaryIdColumn()
  @ForeignKey('BotEntity', { onDelete: 'CASCADE' })
  bot_id!: string;

  @PrimaryIdColumn()
  alias!: string;

  @IdColumn()
  plugin_id!: string;

  @Column('boolean')
  enabled!: boolean;

  /** Encrypted JSON. */
  @Column('text')
  configuration!: string;

  /** Installation bound to each interface that the plugin depends on. */
  @Column('jsonb')
  interfaces!: Record<string, BoundInterface>;

  /** Installation bound to each integration that the plugin depends on. */
  @Column('jsonb')
  integrations!: Record<string, BindIntegration>;

  /** Summary of the plugin in the hub as of its last change. */
  @Column('jsonb')
  summary!: HubSummary;

  /** States, events, actions and tags, with the references to entities resolved. */
  @Column('jsonb')
  definition!: PluginDefinition;

  /** Recurring events of the plugin, by its own names. */
  @Column('jsonb', { default: {} })
  recurring_events!: Record<string, RecurringEventDefinition>;

  @TimestampColumn()
  created_at!: Date;

  @TimestampColumn()
  updated_at!: Date;
}

/** Installation without its bot and its times. */
export type InstallationRow = Omit<InstallationEntity, 'bot_id' | 'created_at' | 'updated_at'>;
export type PluginRow = Omit<BotPluginEntity, 'bot_id' | 'created_at' | 'updated_at'>;

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
