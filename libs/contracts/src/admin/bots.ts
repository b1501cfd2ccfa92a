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
import { maxCodeBytes, strictDeployHeader, withCode } from '../code';
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
/** Names are in SCREAMING_SNAKE_CASE. */
const secretEntries = { maxLength: 20_000, key: /^[A-Z][A-Z0-9_]{0,199}$/ };

class BotSettings {
  /** Refuses code that cannot be loaded, which is deployed with a warning otherwise. */
  @HeaderFlag(strictDeployHeader) strictDeploy?: boolean;

  /** Generated when a bot is created without a name. */
  @Optional() @IsString() @Length(1, 200) name?: string;

  @Optional() @IsString() @MaxLength(2000) description?: string;
  @Optional() @ListOf(Media, { maxItems: 50 }) medias?: Media[];
  @Optional() @IsIn(botTypes) type?: BotType;

  /** Seconds. */
  @Optional() @IsInt() @Min(1) @Max(3600) maxExecutionTime?: number;

  @Optional() @IsString() @MaxBytes(maxCodeBytes) code?: string;
  @Optional() @Nested(BotConfiguration) configuration?: BotConfiguration;
}

export class CreateBot extends BotSettings {
  /** Keys `integrations` of the answer by alias; otherwise by integration id. */
  @HeaderFlag('x-multiple-integrations') byAlias?: boolean;

  @Optional() @MapOf(String, { maxLength: 500, key: definitionName }) tags?: Record<string, string>;
  @Optional() @IsUrl(botUrl) @MaxLength(2000) url?: string;
  @Optional() @IsBoolean() dev?: boolean;

  /** Stored encrypted. Answers contain the names only. */
  @Optional() @MapOf(String, { ...secretEntries, maxEntries: maxSecrets }) secrets?: Record<string, string>;

  @Optional() @Nested(TagDefinitions) user?: TagDefinitions;
  @Optional() @Nested(TagDefinitions) conversation?: TagDefinitions;
  @Optional() @Nested(TagDefinitions) message?: TagDefinitions;

  @Optional()
  @MapOf(StateDefinition, { maxEntries: definitionLimits.states, key: definitionName })
  states?: Record<string, StateDefinition>;

  @Optional()
  @MapOf(EventDefinition, { maxEntries: definitionLimits.events, key: definitionName })
  events?: Record<string, EventDefinition>;

  @Optional()
  @MapOf(RecurringEventDefinition, { maxEntries: definitionLimits.recurringEvents, key: definitionName })
  recurringEvents?: Record<string, RecurringEventDefinition>;

  @Optional() @Nested(Subscriptions) subscriptions?: Subscriptions;

  @Optional()
  @MapOf(ActionDefinition, { maxEntries: definitionLimits.actions, key: definitionName })
  actions?: Record<string, ActionDefinition>;
}

/**
 * Absent fields stay unchanged. An entry of a map replaces the whole entry of that name, `null` removes it; `medias`,
 * `layers` and both parts of `configuration` are replaced as a whole. The limits apply to the resulting bot.
 */
export class UpdateBot extends BotSettings {
  @PathParam() id!: string;

  /**
   * Keys `integrations` of the request and the answer by alias; otherwise by integration id, which then selects the
   * installation with the smallest alias.
   */
  @HeaderFlag('x-multiple-integrations') byAlias?: boolean;

  /** `null` uninstalls. */
  @Optional()
  @MapOf(ChangeInstallation, { nullable: true, maxEntries: 100, key: aliasPattern })
  integrations?: Record<string, ChangeInstallation | null>;

  /** By alias; `null` uninstalls. */
  @Optional()
  @MapOf(ChangePlugin, { nullable: true, maxEntries: 100, key: aliasPattern })
  plugins?: Record<string, ChangePlugin | null>;

  /** `null` removes the URL. */
  @Nullable() @IsUrl(botUrl) @MaxLength(2000) url?: string | null;

  @Optional() @IsIn(['iam', 'hmac-sha256']) authentication?: 'iam' | 'hmac-sha256';

  /** Keys of a blocked bot are rejected. */
  @Optional() @IsBoolean() blocked?: boolean;

  @Optional() @IsBoolean() alwaysAlive?: boolean;
  @Optional() @IsArray() @ArrayMaxSize(50) @IsString({ each: true }) @MaxLength(2000, { each: true }) layers?: string[];
  @Optional() @MapOf(String, { ...removable, maxLength: 500 }) tags?: Record<string, string | null>;
  @Optional() @MapOf(String, { ...secretEntries, nullable: true }) secrets?: Record<string, string | null>;
  @Optional() @Nested(TagDefinitionChanges) user?: TagDefinitionChanges;
  @Optional() @Nested(TagDefinitionChanges) conversation?: TagDefinitionChanges;
  @Optional() @Nested(TagDefinitionChanges) message?: TagDefinitionChanges;
  @Optional() @MapOf(StateDefinition, removable) states?: Record<string, StateDefinition | null>;
  @Optional() @MapOf(EventChange, removable) events?: Record<string, EventChange | null>;

  @Optional()
  @MapOf(RecurringEventDefinition, removable)
  recurringEvents?: Record<string, RecurringEventDefinition | null>;

  @Optional() @Nested(SubscriptionChanges) subscriptions?: SubscriptionChanges;
  @Optional() @MapOf(ActionChange, removable) actions?: Record<string, ActionChange | null>;
}

export class RecurringEvent extends RecurringEventDefinition {
  @IsInt() failedAttempts!: number;
  @Nullable() @IsString() lastFailureReason!: string | null;
}

export class BotEntry {
  @IsString() id!: string;
  @IsString() createdAt!: string;
  @IsString() updatedAt!: string;
  @IsString() name!: string;
  @Optional() @IsString() deployedAt?: string;
  @MapOf(String) tags!: Record<string, string>;
  @IsIn(botTypes) type!: BotType;
}

export class Bot extends BotEntry {
  /** Empty for roles below developer. */
  @IsString() signingSecret!: string;

  /** By alias when the header `x-multiple-integrations` is `true`, otherwise by integration id. */
  @MapOf(BotIntegration) integrations!: Record<string, BotIntegration>;

  /** By alias. Definitions that a plugin adds to the bot appear as `alias#name` among the bot's own. */
  @MapOf(BotPlugin) plugins!: Record<string, BotPlugin>;

  @Optional() @IsInt() maxExecutionTime?: number;
  @JsonObject() user!: { tags: Record<string, TagDefinition> };
  @JsonObject() conversation!: { tags: Record<string, TagDefinition> };
  @JsonObject() message!: { tags: Record<string, TagDefinition> };
  @MapOf(StateDefinition) states!: Record<string, StateDefinition>;
  @JsonObject() configuration!: { data: Record<string, unknown>; schema: Record<string, unknown> };
  @MapOf(EventDefinition) events!: Record<string, EventDefinition>;
  @MapOf(RecurringEvent) recurringEvents!: Record<string, RecurringEvent>;
  @Nested(Subscriptions) subscriptions!: Subscriptions;
  @MapOf(ActionDefinition) actions!: Record<string, ActionDefinition>;
  @Optional() @IsString() description?: string;
  @IsBoolean() dev!: boolean;

  /** Names of the secrets, without values. */
  @IsArray() @IsString({ each: true }) secrets!: string[];

  @Optional() @IsString() createdBy?: string;
  @IsBoolean() alwaysAlive!: boolean;
  @IsIn(['active', 'deploying', 'deleting']) status!: 'active' | 'deploying' | 'deleting';
  @ListOf(Media) medias!: Media[];
}

export class BotReply {
  @Nested(Bot) bot!: Bot;
}

export class BotId {
  @PathParam() id!: string;
}

export class GetBot extends BotId {
  /** Keys `integrations` of the answer by alias; otherwise by integration id. */
  @HeaderFlag('x-multiple-integrations') byAlias?: boolean;
}

export class ListBots extends PageQuery {
  @QueryBoolean() dev?: boolean;
  @QueryTags() tags?: TagQuery;

  /** Filter: bots that have at least one of these integrations installed. */
  @QueryList() integrationNames?: string[];

  /** Filter: bots that have at least one of these plugins installed. */
  @QueryList() pluginNames?: string[];

  @QueryChoice(['createdAt', 'updatedAt']) sortField?: 'createdAt' | 'updatedAt';
  @QueryChoice(['asc', 'desc']) sortDirection?: 'asc' | 'desc';
}

export class Bots {
  @ListOf(BotEntry) bots!: BotEntry[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class TransferBot extends BotId {
  @IsString() targetWorkspaceId!: string;
}

export class NewSigningSecret {
  /** Earlier signing secrets stay valid for 24 hours. */
  @IsString() newSigningSecret!: string;
}

/** Bot deletion: the bot and its credentials no longer exist; every service erases its data of the bot. */
export class BotDeleted {
  @IsString() botId!: string;
  @IsString() workspaceId!: string;
}

export const botDeleted = event({ subject: 'admin.botDeleted', data: BotDeleted });

export const endUsage = consumer({ name: 'admin.endUsage', event: botDeleted });
export const eraseBotInFiles = consumer({ name: 'files.eraseBot', event: botDeleted });
export const eraseBotInTables = consumer({ name: 'tables.eraseBot', event: botDeleted });
export const eraseBotInChat = consumer({ name: 'chat.eraseBot', event: botDeleted });
export const eraseBotInModels = consumer({ name: 'models.eraseBot', event: botDeleted });
export const eraseBotInRuntime = consumer({ name: 'runtime.eraseBot', event: botDeleted });

/** The bot counts against the quotas of this workspace from now on: after a transfer, and once for each bot at an upgrade. */
export class BotTransferred {
  @IsString() botId!: string;

  /** Workspace of the bot. */
  @IsString() workspaceId!: string;
}

export const botTransferred = event({ subject: 'admin.botTransferred', data: BotTransferred });

export const moveBotInFiles = consumer({ name: 'files.moveBot', event: botTransferred });
export const moveBotInTables = consumer({ name: 'tables.moveBot', event: botTransferred });

/** Characters of the reason why code cannot be loaded. */
export const maxLoadFailureLength = 1_000;

/** Published only by release 0.2.0; removed with the release after next. */
export class DeploymentRefused {
  @IsString() botId!: string;

  /** Reason, with its first `maxLoadFailureLength` characters. */
  @IsString() failure!: string;
}

/** The code of a deployment cannot be loaded. */
export class CodeNotLoadable extends DeploymentRefused {
  /** False for a deployment that was refused, which changed nothing. */
  @IsBoolean() isDeployed!: boolean;
}

export const deploymentRefused = event({ subject: 'admin.deploymentRefused', data: DeploymentRefused });
export const codeNotLoadable = event({ subject: 'admin.codeNotLoadable', data: CodeNotLoadable });

export const recordRefusedDeployment = consumer({ name: 'runtime.recordRefusedDeployment', event: deploymentRefused });
export const recordUnloadableCode = consumer({ name: 'runtime.recordUnloadableCode', event: codeNotLoadable });

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
    summary: 'Gets a bot with its full definition.',
    access: workspace.readAlsoByBot,
    input: GetBot,
    output: BotReply,
  }),
  update: operation({
    subject: 'admin.bots.update',
    route: 'PUT /v1/admin/bots/{id}',
    summary: 'Updates a bot. Absent fields stay unchanged; a null entry of a map removes that entry.',
    access: workspace.write,
    input: UpdateBot,
    output: BotReply,
    ...withCode,
    // Integrations are notified of the change within 20 s.
    timeoutMs: 45_000,
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
    summary: 'Deletes a bot, revokes its credentials at once, and erases its data in the background.',
    access: workspace.manage,
    input: BotId,
    output: Empty,
  }),
  transfer: operation({
    subject: 'admin.bots.transfer',
    route: 'POST /v1/admin/bots/{id}/transfer',
    summary: 'Moves a bot with its keys and data to another workspace in which the caller has write permission.',
    access: workspace.administer,
    input: TransferBot,
    output: Empty,
  }),
  rotateSigningSecret: operation({
    subject: 'admin.bots.rotateSigningSecret',
    route: 'POST /v1/admin/bots/{id}/signing-secrets/rotate',
    summary: 'Creates a new signing secret for a bot. The previous one stays valid for 24 hours.',
    access: workspace.manage,
    input: BotId,
    output: NewSigningSecret,
  }),
};
