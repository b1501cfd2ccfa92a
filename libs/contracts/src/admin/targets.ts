import { IsArray, IsBoolean, IsIn, IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { JsonObject, MapOf, Nested, Nullable, Optional } from '../fields';
import { consumer, event, operation } from '../operation';
import { type InstallationStatus, installationStatuses } from './bot-integrations';
import { CodeTarget } from '../runner/code';

export class GetBotTarget {
  @IsString() botId!: string;
}

/** All that a call of the bot needs. Contains decrypted secrets. */
export class BotTarget {
  @IsString() botId!: string;
  @IsString() workspaceId!: string;

  /** Server of the bot. It takes precedence over code. */
  @Nullable() @IsString() url!: string | null;

  /** Deployed code. Null without code. */
  @Nullable() @Nested(CodeTarget) code!: CodeTarget | null;

  @IsBoolean() isDev!: boolean;
  @IsBoolean() isBlocked!: boolean;

  /** Event types that the bot receives. Null: all. */
  @Nullable() @IsArray() @IsString({ each: true }) subscriptions!: string[] | null;

  /** `configuration.data` of the bot. */
  @JsonObject() configuration!: Record<string, unknown>;

  @MapOf(String) tags!: Record<string, string>;

  /** `maxExecutionTime` of the bot, or its default, at most the quota invocation_timeout. */
  @IsInt() timeoutMs!: number;

  /** Quota invocation_calls of the workspace. */
  @IsInt() callsPerMonth!: number;

  /** Whether the workspace has used up `callsPerMonth`. */
  @IsBoolean() isOverQuota!: boolean;

  /** Current signing secret first, then those that a rotation replaced in the last 24 hours. */
  @IsArray() @IsString({ each: true }) signingSecrets!: string[];
}

export class GetActionTarget extends GetBotTarget {
  /** `name`, `alias#name` or `alias:name`. */
  @IsString() type!: string;
}

export const callees = ['bot', 'chat', 'integration'] as const;

/** Answers an action. */
export class ActionTarget {
  /** `bot` also for actions of plugins, which are part of the code of the bot. `chat`: the native chat. */
  @IsIn(callees) callee!: (typeof callees)[number];

  /** Name of the integration. Null for `bot`. */
  @Nullable() @IsString() integrationName!: string | null;

  /** Version of an integration that has to be called. Null for `bot` and `chat`. */
  @Nullable() @IsString() integrationId!: string | null;

  /** Why the integration cannot be called: it is disabled, or did not register. Null if it can. */
  @Nullable() @IsString() obstacle!: string | null;

  /** Schemas of input and output. Null for an integration: its definition is in the hub. */
  @Nullable() @JsonObject({ maxBytes: 200_000 }) inputSchema!: Record<string, unknown> | null;

  @Nullable() @JsonObject({ maxBytes: 200_000 }) outputSchema!: Record<string, unknown> | null;
}

/** Either `alias` or `removedId` is given. */
export class GetInstallationTarget {
  @IsString() botId!: string;
  @Optional() @IsString() alias?: string;

  /** Id of a former installation that is to be unregistered. */
  @Optional() @IsString() removedId?: string;
}

export class IdentifiedInstallation {
  /** Owner and name of the integration. */
  @IsString() family!: string;

  @IsString() identifier!: string;
}

export class FindInstallationTarget {
  @IsString() webhookId!: string;
}

/** Installation of an integration, as a call of the integration needs it. Contains decrypted secrets. */
export class InstallationTarget {
  @IsString() botId!: string;

  /** Workspace of the bot. */
  @IsString() workspaceId!: string;

  @IsString() alias!: string;

  /** Version id. */
  @IsString() integrationId!: string;

  @IsString() webhookId!: string;

  /** That of the chat API for the chat. */
  @IsString() webhookUrl!: string;

  /** True for the chat integration, which the platform itself provides. */
  @IsBoolean() isChat!: boolean;

  /** False also for a former installation. */
  @IsBoolean() isEnabled!: boolean;

  @IsBoolean() isBotBlocked!: boolean;
  @IsBoolean() isDevBot!: boolean;

  /** Increases with each change that the integration has to be notified. */
  @IsInt() revision!: number;

  @IsIn(installationStatuses) status!: InstallationStatus;
  @Nullable() @IsString() statusReason!: string | null;

  /** Null for the main configuration. */
  @Nullable() @IsString() configurationType!: string | null;

  @JsonObject() configuration!: Record<string, unknown>;
  @IsArray() @IsString({ each: true }) disabledChannels!: string[];

  /** Quota invocation_calls of the workspace. */
  @IsInt() callsPerMonth!: number;

  @IsBoolean() isOverQuota!: boolean;
}

/** Change notification: a bot has another url, code, configuration or status. */
export class BotTargetChanged {
  @IsString() botId!: string;

  /** True after a deployment, which registers the bot. */
  @IsBoolean() isDeployed!: boolean;

  /** Whether events are delivered to the bot: it has a url or code, and is not blocked. */
  @IsBoolean() isCalled!: boolean;

  /** Increases with every change of the bot. */
  @IsInt() revision!: number;

  /** Whether the bot defines the action `tablesRecomputeRows`. Absent in events of earlier releases. */
  @Optional() @IsBoolean() computesRows?: boolean;
}

export const botTargetChanged = event({ subject: 'admin.botTargetChanged', data: BotTargetChanged });

export const wakeDeliveries = consumer({ name: 'runtime.wakeDeliveries', event: botTargetChanged, concurrency: 4 });

export const registerBot = consumer({ name: 'runtime.registerBot', event: botTargetChanged, concurrency: 4 });
export const noteComputingBot = consumer({ name: 'tables.noteComputingBot', event: botTargetChanged, concurrency: 4 });
export const noteCalledBot = consumer({ name: 'chat.noteCalledBot', event: botTargetChanged, concurrency: 4 });

export const targets = {
  getBot: operation({
    subject: 'admin.targets.getBot',
    summary: 'Gets all that a call of the bot needs: address, configuration and signing secrets.',
    access: service,
    input: GetBotTarget,
    output: BotTarget,
  }),
  getInstallation: operation({
    subject: 'admin.targets.getInstallation',
    summary: 'Gets an installation of an integration with its configuration.',
    access: service,
    input: GetInstallationTarget,
    output: InstallationTarget,
  }),
  identifyInstallation: operation({
    subject: 'admin.targets.identifyInstallation',
    summary: 'Gets the installation that has an identifier.',
    access: service,
    input: IdentifiedInstallation,
    output: InstallationTarget,
  }),
  findInstallation: operation({
    subject: 'admin.targets.findInstallation',
    summary: 'Gets the installation that a webhook id belongs to.',
    access: service,
    input: FindInstallationTarget,
    output: InstallationTarget,
  }),
  getAction: operation({
    subject: 'admin.targets.getAction',
    summary: 'Finds who answers an action of a bot, and its schemas.',
    access: service,
    input: GetActionTarget,
    output: ActionTarget,
  }),
};
