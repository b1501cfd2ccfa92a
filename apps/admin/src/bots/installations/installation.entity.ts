import type { BotIntegration, InstallationStatus } from '@parley/contracts/admin/bot-integrations';
import type { BindIntegration, BotPlugin, BoundInterface } from '@parley/contracts/admin/bot-plugins';
import type { RecurringEventDefinition } from '@parley/contracts/definition';
import type { HubSummary, InstallablePlugin } from '@parley/contracts/hub/resolution';
import type { RegisterSchedule } from '@parley/contracts/admin/registrations';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import type { SecretBox } from '@parley/secrets/secret-box';
import { Column, Entity, ForeignKey, Index } from 'typeorm';

/** Installation of an integration in a bot. */
@Entity('installation')
@Index('installation_integration', ['integration_id'])
@Index('installation_identifier', ['family', 'identifier'], { unique: true, where: 'identifier IS NOT NULL' })
@Index('installation_register_at', ['register_at'], { where: 'register_at IS NOT NULL' })
export class InstallationEntity {
  @PrimaryIdColumn() @ForeignKey('BotEntity', { onDelete: 'CASCADE' }) bot_id!: string;
  @PrimaryIdColumn() alias!: string;
  @IdColumn() integration_id!: string;
  @IdColumn({ unique: true }) webhook_id!: string;
  @Column('boolean') enabled!: boolean;
  @Column('text', { nullable: true }) configuration_type!: string | null;

  /** Encrypted JSON; null when there is no configuration. */
  @Column('text', { nullable: true }) configuration!: string | null;

  @Column('jsonb', { default: [] }) disabled_channels!: string[];
  @Column('text') status!: InstallationStatus;
  @Column('text', { nullable: true }) status_reason!: string | null;

  /** Routes requests to the shared webhook of the integration. */
  @Column('text', { nullable: true }) identifier!: string | null;

  /** Owner and name of the integration among whose installations the identifier is unique. Null without an identifier. */
  @Column('text', { nullable: true }) family!: string | null;

  /** Increases with each change that the integration has to be notified. */
  @Column('integer', { default: 0 }) registration_revision!: number;

  /** Whether the integration has a URL or code. */
  @Column('boolean', { default: false }) is_callable!: boolean;

  @Column('text', { nullable: true }) register_schedule!: RegisterSchedule | null;

  /** Time of the next scheduled registration. */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) register_at!: Date | null;

  /** Summary of the integration in the hub as of its last change. */
  @Column('jsonb') summary!: HubSummary;

  @TimestampColumn() created_at!: Date;
  @TimestampColumn() updated_at!: Date;
}

/** Shareable id of an installation, which has at most one. */
@Entity('shareable_id')
@ForeignKey(() => InstallationEntity, ['bot_id', 'alias'], ['bot_id', 'alias'], { onDelete: 'CASCADE' })
export class ShareableIdEntity {
  @IdColumn({ unique: true }) id!: string;
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() alias!: string;
  @Column({ type: 'timestamptz', precision: 3 }) expires_at!: Date;
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
  @PrimaryIdColumn() @ForeignKey('BotEntity', { onDelete: 'CASCADE' }) bot_id!: string;
  @PrimaryIdColumn() alias!: string;
  @IdColumn() plugin_id!: string;
  @Column('boolean') enabled!: boolean;

  /** Encrypted JSON. */
  @Column('text') configuration!: string;

  /** Installation bound to each interface that the plugin depends on. */
  @Column('jsonb') interfaces!: Record<string, BoundInterface>;

  /** Installation bound to each integration that the plugin depends on. */
  @Column('jsonb') integrations!: Record<string, BindIntegration>;

  /** Summary of the plugin in the hub as of its last change. */
  @Column('jsonb') summary!: HubSummary;

  /** States, events, actions and tags, with the references to entities resolved. */
  @Column('jsonb') definition!: PluginDefinition;

  /** Recurring events of the plugin, by its own names. */
  @Column('jsonb', { default: {} }) recurring_events!: Record<string, RecurringEventDefinition>;

  @TimestampColumn() created_at!: Date;
  @TimestampColumn() updated_at!: Date;
}

/** Installation without its bot, its times, and what only its integration sets. */
export type InstallationRow = Omit<
  InstallationEntity,
  'bot_id' | 'created_at' | 'updated_at' | 'family' | 'register_schedule' | 'register_at'
>;
export type PluginRow = Omit<BotPluginEntity, 'bot_id' | 'created_at' | 'updated_at'>;

export interface InstalledRows {
  integrations: InstallationRow[];
  plugins: PluginRow[];
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
