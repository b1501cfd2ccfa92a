import type { AllowlistSetting } from '@parley/contracts/admin/bot-allowlist';
import type { Bot, BotEntry } from '@parley/contracts/admin/bots';
import { mapEntries } from '@parley/contracts/entries';
import { shownConfigurationSchema } from '@parley/contracts/schemas';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { InstalledRows } from '../installations/installation.entity';
import type { BotDefinition } from '../installations/bot-definition';

/** Bot of a workspace. */
@Entity('bot')
@Check('bot_allowlist_check', "allowlist IN ('ALL_WORKSPACE_USERS', 'SELECTED_USERS')")
@Index('bot_created', ['workspace_id', 'created_at', 'id'])
@Index('bot_updated', ['workspace_id', 'updated_at', 'id'])
export class BotEntity {
  @PrimaryIdColumn() id!: string;
  @IdColumn() @ForeignKey('WorkspaceEntity') workspace_id!: string;
  @Column('text') name!: string;
  @Column('text', { nullable: true }) description!: string | null;
  @Column('boolean') dev!: boolean;
  @Column('text') type!: Bot['type'];
  @Column('text', { nullable: true }) url!: string | null;
  @Column('jsonb') tags!: Record<string, string>;
  @Column('jsonb') medias!: Bot['medias'];
  @Column('integer', { nullable: true }) max_execution_time!: number | null;

  /** Own states, events, actions, tags and configuration of the bot, without those of its plugins. */
  @Column('jsonb') definition!: BotDefinition;

  /** Encrypted. */
  @Column('text') signing_secret!: string;

  /** Encrypted values by name. */
  @Column('jsonb') secrets!: Record<string, string>;

  /** Account, which may have been deleted: no foreign key. */
  @IdColumn({ nullable: true }) created_by!: string | null;

  @TimestampColumn() created_at!: Date;
  @TimestampColumn() updated_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) deployed_at!: Date | null;
  @Column('text', { nullable: true }) authentication!: 'iam' | 'hmac-sha256' | null;

  /** Keys of a blocked bot are rejected. */
  @Column('boolean', { default: false }) blocked!: boolean;

  @Column('boolean', { default: false }) always_alive!: boolean;
  @Column('jsonb', { default: [] }) layers!: string[];

  /** Deployed version, which is never deleted while it is deployed. Null without code. */
  @IdColumn({ nullable: true }) version_id!: string | null;

  @Column('text', { default: 'ALL_WORKSPACE_USERS' }) allowlist!: AllowlistSetting;

  /** Increases with every change of the bot's installations. */
  @Column('integer', { default: 0 }) installation_revision!: number;

  /** Webhook id of the chat after its removal, so that web pages go on when it is installed again. */
  @IdColumn({ nullable: true }) chat_webhook_id!: string | null;

  /** Increases with every change of the recurring events in the definition. */
  @Column('integer', { default: 0 }) recurring_events_revision!: number;

  /**
   * `bigint`, which arrives as text. Reserved bytes: payloads of the recurring events within the event retention. Part
   * of the bot's storage usage.
   */
  @Column('bigint', { default: 0 }) recurring_bytes!: string;

  /** Most that language models may cost in a month, in billionths of a US dollar; null without a limit. `bigint`: a string. */
  @Column({ type: 'bigint', nullable: true }) budget_cost!: string | null;

  @Column({ type: 'bigint', nullable: true }) budget_tokens!: string | null;

  /** Increases with every change of the budget. */
  @Column('integer', { default: 0 }) budget_version!: number;
}

/** Allowlist entry: member who may see a bot for selected users. Deleted when the member leaves the workspace. */
@Entity('bot_allowed_member')
@ForeignKey('MemberEntity', ['workspace_id', 'account_id'], ['workspace_id', 'account_id'], { onDelete: 'CASCADE' })
@Index('bot_allowed_member_member', ['workspace_id', 'account_id'])
export class BotAllowedMemberEntity {
  @PrimaryIdColumn() @ForeignKey(() => BotEntity, { onDelete: 'CASCADE' }) bot_id!: string;
  @IdColumn() workspace_id!: string;
  @PrimaryIdColumn() account_id!: string;
}

/** Former signing secret of a bot that is still valid. */
@Entity('bot_former_signing_secret')
export class FormerSigningSecretEntity {
  @PrimaryIdColumn() @ForeignKey(() => BotEntity, { onDelete: 'CASCADE' }) bot_id!: string;

  /** Encrypted. */
  @PrimaryColumn('text') secret!: string;

  @PrimaryColumn({ type: 'timestamptz', precision: 3 }) valid_until!: Date;
}

/** Failure state of a recurring event of the bot's own definition, since it was defined. */
@Entity('recurring_failure')
export class RecurringFailureEntity {
  @PrimaryIdColumn() @ForeignKey(() => BotEntity, { onDelete: 'CASCADE' }) bot_id!: string;
  @PrimaryIdColumn() name!: string;

  /** 0 after a success. */
  @Column('integer') failed_attempts!: number;

  @Column('text', { nullable: true }) last_failure_reason!: string | null;

  /** Newest state, so that an older one that arrives late has no effect. `bigint`, which arrives as text. */
  @Column('bigint') revision!: string;
}

export type BotEntryRow = Pick<
  BotEntity,
  'id' | 'name' | 'type' | 'tags' | 'created_at' | 'updated_at' | 'deployed_at'
>;

type BotColumn =
  | keyof BotEntryRow
  | 'workspace_id'
  | 'url'
  | 'blocked'
  | 'description'
  | 'dev'
  | 'medias'
  | 'max_execution_time'
  | 'always_alive'
  | 'definition'
  | 'signing_secret'
  | 'created_by'
  | 'version_id';

export interface BotRow extends Pick<BotEntity, BotColumn>, InstalledRows {
  secret_names: string[];
  failures: RecurringFailureEntity[];
}

export type LockedBotRow = BotRow & Pick<BotEntity, 'secrets'>;

export function toBot(
  row: BotRow,
  signingSecret: string,
  definition: BotDefinition,
  installed: Pick<Bot, 'integrations' | 'plugins'>,
): Bot {
  const { data, schema } = definition.configuration;
  return {
    ...toBotEntry(row),
    ...definition,
    configuration: { data, schema: shownConfigurationSchema(schema) },
    recurringEvents: withFailures(definition.recurringEvents, row.failures),
    ...installed,
    signingSecret,
    description: row.description ?? undefined,
    maxExecutionTime: row.max_execution_time ?? undefined,
    dev: row.dev,
    secrets: row.secret_names,
    createdBy: row.created_by ?? undefined,
    alwaysAlive: row.always_alive,
    status: 'active',
    medias: row.medias,
  };
}

function withFailures(events: Bot['recurringEvents'], failures: RecurringFailureEntity[]): Bot['recurringEvents'] {
  return mapEntries(events, (event, name) => {
    const failure = failures.find((each) => each.name === name);
    if (!failure) return event;
    return { ...event, failedAttempts: failure.failed_attempts, lastFailureReason: failure.last_failure_reason };
  });
}

export function toBotEntry(row: BotEntryRow): BotEntry {
  return {
    id: row.id,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    name: row.name,
    deployedAt: row.deployed_at?.toISOString(),
    tags: row.tags,
    type: row.type,
  };
}
