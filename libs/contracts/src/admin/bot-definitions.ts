import { IsArray, IsBoolean, IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { RecurringEventDefinition, StateDefinition } from '../definition';
import { JsonObject, ListOf, MapOf } from '../fields';
import { IntegrationState } from '../hub/integration-definition';
import { consumer, event, operation } from '../operation';

export class GetBotDefinition {
  @IsString() botId!: string;
}

export class ResolvedInstallation {
  @IsString() alias!: string;

  /** Version id. */
  @IsString() integrationId!: string;

  @IsString() name!: string;
  @IsString() webhookId!: string;
  @IsBoolean() enabled!: boolean;

  /** True for the chat integration, which the platform itself provides. */
  @IsBoolean() isChat!: boolean;

  /** Channels that the bot has not disabled. Empty, like `states`, after the version was deleted from the hub. */
  @IsArray() @IsString({ each: true }) channels!: string[];

  @MapOf(IntegrationState) states!: Record<string, IntegrationState>;

  /** Names of the enabled opt-in operations. */
  @IsArray() @IsString({ each: true }) extraOperations!: string[];
}

export class ResolvedBotDefinition {
  @IsString() botId!: string;
  @IsString() workspaceId!: string;

  /** Includes the states of its enabled plugins, as `alias#name`. */
  @MapOf(StateDefinition) states!: Record<string, StateDefinition>;

  @MapOf(RecurringEventDefinition) recurringEvents!: Record<string, RecurringEventDefinition>;

  /** Increases with every change of the bot's recurring events. */
  @IsInt() recurringEventsRevision!: number;

  /** By alias, including disabled ones. */
  @ListOf(ResolvedInstallation) installations!: ResolvedInstallation[];
}

export class FindWebhook {
  @IsString() webhookId!: string;
}

export class WebhookTarget {
  @IsString() botId!: string;
  @IsString() workspaceId!: string;

  /** True when the bot is blocked. */
  @IsBoolean() isBlocked!: boolean;

  @IsString() alias!: string;

  /** Version id. */
  @IsString() integrationId!: string;

  @IsString() name!: string;

  /** True for the chat integration, which the platform itself provides. */
  @IsBoolean() isChat!: boolean;

  @IsBoolean() enabled!: boolean;

  /** Decrypted. */
  @JsonObject() configuration!: Record<string, unknown>;
}

/** Change notification: recurring events of a smaller revision are out of date. */
export class RecurringEventsChanged {
  @IsString() botId!: string;
  @IsInt() revision!: number;
}

export const recurringEventsChanged = event({
  subject: 'admin.recurringEventsChanged',
  data: RecurringEventsChanged,
});

export const keepRecurringEvents = consumer({ name: 'chat.keepRecurringEvents', event: recurringEventsChanged });

export const botDefinitions = {
  get: operation({
    subject: 'admin.botDefinitions.get',
    summary: 'Gets the definition of a bot and its installations, as the runtime needs them.',
    access: service,
    input: GetBotDefinition,
    output: ResolvedBotDefinition,
  }),
  findByWebhookId: operation({
    subject: 'admin.botDefinitions.findByWebhookId',
    summary: 'Gets the bot and the installation that a webhook id belongs to.',
    access: service,
    input: FindWebhook,
    output: WebhookTarget,
  }),
};
