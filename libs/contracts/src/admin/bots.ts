import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsString,
  IsUrl,
  Length,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { workspace } from '../access';
import { maxCodeBytes, withCode } from '../code';
import { JsonObject, ListOf, MapOf, MaxBytes, Nested, Nullable, Optional } from '../fields';
import { consumer, event, operation } from '../operation';
import { Empty, PageMeta, PageQuery } from '../paging';
import { HeaderFlag, PathParam, QueryBoolean, QueryChoice, QueryList, QueryTags, type TagQuery } from '../query-fields';
import {
  ActionChange,
  ActionDefinition,
  BotConfiguration,
  definitionLimits,
  definitionName,
  EventChange,
  EventDefinition,
  Media,
  RecurringEventDefinition,
  removable,
  StateDefinition,
  SubscriptionChanges,
  Subscriptions,
  type TagDefinition,
  TagDefinitionChanges,
  TagDefinitions,
} from '../definition';
import { aliasPattern, BotIntegration, ChangeInstallation } from './bot-integrations';
import { BotPlugin, ChangePlugin } from './bot-plugins';

const botTypes = ['studio', 'adk', 'desk'] as const;
type BotType = (typeof botTypes)[number];
const botUrl = { require_tld: false, protocols: ['http', 'https'] };
export const maxSecrets = 25;
/** Names are in SCREAMING_SNAKE. */
const secretEntries = { maxLength: 20_000, key: /^[A-Z][A-Z0-9_]{0,199}$/ };

/** What a bot is created with and can be given later in the same form. */
class BotSettings {
  /** Invented when a bot is created without one. */
  @Optional()
  @IsString()
  @Length(1, 200)
  name?: string;

  @Optional()
  @IsString()
  @MaxLength(2000)
  description?: string;

  @Optional()
  @ListOf(Media, { maxItems: 50 })
  medias?: Media[];

  @Optional()
  @IsIn(botTypes)
  type?: BotType;

  /** Seconds. */
  @Optional()
  @IsInt()
  @Min(1)
  @Max(3600)
  maxExecutionTime?: number;

  @Optional()
  @IsString()
  @MaxBytes(maxCodeBytes)
  code?: string;

  @Optional()
  @Nested(BotConfiguration)
  configuration?: BotConfiguration;
}

export class CreateBot extends BotSettings {
  /** Whether `integrations` of the answer is keyed by alias, else by the id of the integration. */
  @HeaderFlag('x-multiple-integrations')
  byAlias?: boolean;

  @Optional()
  @MapOf(String, { maxLength: 500, key: definitionName })
  tags?: Record<string, string>;

  @Optional()
  @IsUrl(botUrl)
  @MaxLength(2000)
  url?: string;

  @Optional()
  @IsBoolean()
  dev?: boolean;

  /** Kept encrypted; only their names are ever shown. */
  @Optional()
  @MapOf(String, { ...secretEntries, maxEntries: maxSecrets })
  secrets?: Record<string, string>;

  @Optional()
  @Nested(TagDefinitions)
  user?: TagDefinitions;

  @Optional()
  @Nested(TagDefinitions)
  conversation?: TagDefinitions;

  @Optional()
  @Nested(TagDefinitions)
  message?: TagDefinitions;

  @Optional()
  @MapOf(StateDefinition, { maxEntries: definitionLimits.states, key: definitionName })
  states?: Record<string, StateDefinition>;

  @Optional()
  @MapOf(EventDefinition, { maxEntries: definitionLimits.events, key: definitionName })
  events?: Record<string, EventDefinition>;

  @Optional()
  @MapOf(RecurringEventDefinition, { maxEntries: definitionLimits.recurringEvents, key: definitionName })
  recurringEvents?: Record<string, RecurringEventDefinition>;

  @Optional()
  @Nested(Subscriptions)
  subscriptions?: Subscriptions;

  @Optional()
  @MapOf(ActionDefinition, { maxEntries: definitionLimits.actions, key: definitionName })
  actions?: Record<string, ActionDefinition>;
}

/**
 * What is absent stays as it is. An entry of a map replaces the one of its name as a whole, or removes it by `null`;
 * `medias`, `layers` and both parts of `configuration` are replaced. The limits of a bot hold for what comes out of it.
 */
export class UpdateBot extends BotSettings {
  @PathParam()
  id!: string;

  /**
   * Whether `integrations`, in the answer too, is keyed by alias, else by the id of the integration: of those that are
   * installed more than once, the one with the smallest alias is then meant.
   */
  @HeaderFlag('x-multiple-integrations')
  byAlias?: boolean;

  /** `null` uninstalls. */
  @Optional()
  @MapOf(ChangeInstallation, { nullable: true, maxEntries: 100, key: aliasPattern })
  integrations?: Record<string, ChangeInstallation | null>;

  /** By alias; `null` uninstalls. */
  @Optional()
  @MapOf(ChangePlugin, { nullable: true, maxEntries: 100, key: aliasPattern })
  plugins?: Record<string, ChangePlugin | null>;

  /** `null` removes it. */
  @Nullable()
  @IsUrl(botUrl)
  @MaxLength(2000)
  url?: string | null;

  /** How calls to the bot's url are authenticated. */
  @Optional()
  @IsIn(['iam', 'hmac-sha256'])
  authentication?: 'iam' | 'hmac-sha256';

  /** The keys of a blocked bot are refused. */
  @Optional()
  @IsBoolean()
  blocked?: boolean;

  @Optional()
  @IsBoolean()
  alwaysAlive?: boolean;

  @Optional()
  @IsArray()
  @ArrayMaxSize(50)
  @IsString({ each: true })
  @MaxLength(2000, { each: true })
  layers?: string[];

  @Optional()
  @MapOf(String, { ...removable, maxLength: 500 })
  tags?: Record<string, string | null>;

  @Optional()
  @MapOf(String, { ...secretEntries, nullable: true })
  secrets?: Record<string, string | null>;

  @Optional()
  @Nested(TagDefinitionChanges)
  user?: TagDefinitionChanges;

  @Optional()
  @Nested(TagDefinitionChanges)
  conversation?: TagDefinitionChanges;

  @Optional()
  @Nested(TagDefinitionChanges)
  message?: TagDefinitionChanges;

  @Optional()
  @MapOf(StateDefinition, removable)
  states?: Record<string, StateDefinition | null>;

  @Optional()
  @MapOf(EventChange, removable)
  events?: Record<string, EventChange | null>;

  @Optional()
  @MapOf(RecurringEventDefinition, removable)
  recurringEvents?: Record<string, RecurringEventDefinition | null>;

  @Optional()
  @Nested(SubscriptionChanges)
  subscriptions?: SubscriptionChanges;

  @Optional()
  @MapOf(ActionChange, removable)
  actions?: Record<string, ActionChange | null>;
}

export class RecurringEvent extends RecurringEventDefinition {
  @IsInt()
  failedAttempts!: number;

  @Nullable()
  @IsString()
  lastFailureReason!: string | null;
}

/** A bot as lists show it. */
export class BotEntry {
  @IsString()
  id!: string;

  @IsString()
  createdAt!: string;

  @IsString()
  updatedAt!: string;

  @IsString()
  name!: string;

  @Optional()
  @IsString()
  deployedAt?: string;

  @MapOf(String)
  tags!: Record<string, string>;

  @IsIn(botTypes)
  type!: BotType;
}

/** A bot with all that it declares. */
export class Bot extends BotEntry {
  /** Empty for roles below developer. */
  @IsString()
  signingSecret!: string;

  /** By alias or by the id of the integration, as the header x-multiple-integrations says. */
  @MapOf(BotIntegration)
  integrations!: Record<string, BotIntegration>;

  /** By alias. What they add to the bot is shown as `alias#name` among what the bot itself declares. */
  @MapOf(BotPlugin)
  plugins!: Record<string, BotPlugin>;

  @Optional()
  @IsInt()
  maxExecutionTime?: number;

  @JsonObject()
  user!: { tags: Record<string, TagDefinition> };

  @JsonObject()
  conversation!: { tags: Record<string, TagDefinition> };

  @JsonObject()
  message!: { tags: Record<string, TagDefinition> };

  @MapOf(StateDefinition)
  states!: Record<string, StateDefinition>;

  @JsonObject()
  configuration!: { data: Record<string, unknown>; schema: Record<string, unknown> };

  @MapOf(EventDefinition)
  events!: Record<string, EventDefinition>;

  @MapOf(RecurringEvent)
  recurringEvents!: Record<string, RecurringEvent>;

  @Nested(Subscriptions)
  subscriptions!: Subscriptions;

  @MapOf(ActionDefinition)
  actions!: Record<string, ActionDefinition>;

  @Optional()
  @IsString()
  description?: string;

  @IsBoolean()
  dev!: boolean;

  /** Names only. */
  @IsArray()
  @IsString({ each: true })
  secrets!: string[];

  @Optional()
  @IsString()
  createdBy?: string;

  @IsBoolean()
  alwaysAlive!: boolean;

  @IsIn(['active', 'deploying', 'deleting'])
  status!: 'active' | 'deploying' | 'deleting';

  @ListOf(Media)
  medias!: Media[];
}

export class BotReply {
  @Nested(Bot)
  bot!: Bot;
}

export class BotId {
  @PathParam()
  id!: string;
}

export class GetBot extends BotId {
  /** Whether `integrations` of the answer is keyed by alias, else by the id of the integration. */
  @HeaderFlag('x-multiple-integrations')
  byAlias?: boolean;
}

export class ListBots extends PageQuery {
  @QueryBoolean()
  dev?: boolean;

  @QueryTags()
  tags?: TagQuery;

  /** Bots that have one of these integrations installed. */
  @QueryList()
  integrationNames?: string[];

  /** Bots that have one of these plugins installed. */
  @QueryList()
  pluginNames?: string[];

  @QueryChoice(['createdAt', 'updatedAt'])
  sortField?: 'createdAt' | 'updatedAt';

  @QueryChoice(['asc', 'desc'])
  sortDirection?: 'asc' | 'desc';
}

export class Bots {
  @ListOf(BotEntry)
  bots!: BotEntry[];

  @Nested(PageMeta)
  meta!: PageMeta;
}

export class TransferBot extends BotId {
  @IsString()
  targetWorkspaceId!: string;
}

export class NewSigningSecret {
  /** Those before it stay valid for 24 hours. */
  @IsString()
  newSigningSecret!: string;
}

/** The bot and its credentials are gone; every service erases what it holds of it. */
export class BotDeleted {
  @IsString()
  botId!: string;

  @IsString()
  workspaceId!: string;
}

export const botDeleted = event({ subject: 'admin.botDeleted', data: BotDeleted });

export const endUsage = consumer({ name: 'admin.endUsage', event: botDeleted });
export const eraseBotInFiles = consumer({ name: 'files.eraseBot', event: botDeleted });
export const eraseBotInTables = consumer({ name: 'tables.eraseBot', event: botDeleted });
export const eraseBotInChat = consumer({ name: 'chat.eraseBot', event: botDeleted });

/** The bot takes from the quotas of another workspace from now on. */
export class BotTransferred {
  @IsString()
  botId!: string;

  /** Where it is now. */
  @IsString()
  workspaceId!: string;
}

export const botTransferred = event({ subject: 'admin.botTransferred', data: BotTransferred });

export const moveBotInFiles = consumer({ name: 'files.moveBot', event: botTransferred });

export const bots = {
  create: operation({
    subject: 'admin.bots.create',
    route: 'POST /v1/admin/bots',
    summary: 'Creates a bot in the workspace.',
    access: workspace.write,
    input: CreateBot,
    output: BotReply,
    ...withCode,
  }),
  get: operation({
    subject: 'admin.bots.get',
    route: 'GET /v1/admin/bots/{id}',
    summary: 'Gets a bot with its definition.',
    access: workspace.readAlsoByBot,
    input: GetBot,
    output: BotReply,
  }),
  update: operation({
    subject: 'admin.bots.update',
    route: 'PUT /v1/admin/bots/{id}',
    summary: 'Updates a bot. What is left out stays as it is; an entry of a map that is null is removed.',
    access: workspace.write,
    input: UpdateBot,
    output: BotReply,
    ...withCode,
  }),
  list: operation({
    subject: 'admin.bots.list',
    route: 'GET /v1/admin/bots',
    summary: 'Lists the bots of the workspace, newest first unless sorted otherwise.',
    access: workspace.read,
    input: ListBots,
    output: Bots,
  }),
  delete: operation({
    subject: 'admin.bots.delete',
    route: 'DELETE /v1/admin/bots/{id}',
    summary: 'Deletes a bot, refuses its credentials at once, and has all its data erased.',
    access: workspace.manage,
    input: BotId,
    output: Empty,
  }),
  transfer: operation({
    subject: 'admin.bots.transfer',
    route: 'POST /v1/admin/bots/{id}/transfer',
    summary: 'Moves a bot with its keys and data to another workspace in which the caller may write.',
    access: workspace.administer,
    input: TransferBot,
    output: Empty,
  }),
  rotateSigningSecret: operation({
    subject: 'admin.bots.rotateSigningSecret',
    route: 'POST /v1/admin/bots/{id}/signing-secrets/rotate',
    summary: 'Gives a bot a new signing secret. The one before stays valid for 24 hours.',
    access: workspace.manage,
    input: BotId,
    output: NewSigningSecret,
  }),
};
