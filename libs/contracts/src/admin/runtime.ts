import { IsArray, IsBoolean, IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { RecurringEventDefinition, StateDefinition } from '../definition';
import { JsonObject, ListOf, MapOf } from '../fields';
import { IntegrationState } from '../hub/integration-definition';
import { consumer, event, operation } from '../operation';

export class GetBotRuntime {
  @IsString()
  botId!: string;
}

/** An integration that the bot has installed, as the runtime meets it. */
export class RuntimeInstallation {
  @IsString()
  alias!: string;

  /** Version id. */
  @IsString()
  integrationId!: string;

  @IsString()
  name!: string;

  @IsString()
  webhookId!: string;

  @IsBoolean()
  enabled!: boolean;

  /** The chat that comes with the platform. */
  @IsBoolean()
  isChat!: boolean;

  /** Those that the bot has not disabled. None, as there are no states, when its version was deleted from the hub. */
  @IsArray()
  @IsString({ each: true })
  channels!: string[];

  @MapOf(IntegrationState)
  states!: Record<string, IntegrationState>;
}

/** What running a bot needs to know of it. */
export class BotRuntime {
  @IsString()
  botId!: string;

  @IsString()
  workspaceId!: string;

  /** Those of its enabled plugins too, as `alias#name`. */
  @MapOf(StateDefinition)
  states!: Record<string, StateDefinition>;

  @MapOf(RecurringEventDefinition)
  recurringEvents!: Record<string, RecurringEventDefinition>;

  /** Grows with every change of its recurring events. */
  @IsInt()
  recurringEventsRevision!: number;

  /** By alias, the disabled ones too. */
  @ListOf(RuntimeInstallation)
  installations!: RuntimeInstallation[];
}

export class FindWebhook {
  @IsString()
  webhookId!: string;
}

/** The installation that requests to a webhook are for. */
export class WebhookTarget {
  @IsString()
  botId!: string;

  @IsString()
  workspaceId!: string;

  /** The bot is. */
  @IsBoolean()
  isBlocked!: boolean;

  @IsString()
  alias!: string;

  /** Version id. */
  @IsString()
  integrationId!: string;

  @IsString()
  name!: string;

  /** It is the chat that comes with the platform. */
  @IsBoolean()
  isChat!: boolean;

  @IsBoolean()
  enabled!: boolean;

  /** In the clear. */
  @JsonObject()
  configuration!: Record<string, unknown>;
}

/** The recurring events of the bot may be others than at a smaller revision. */
export class RecurringEventsChanged {
  @IsString()
  botId!: string;

  @IsInt()
  revision!: number;
}

export const recurringEventsChanged = event({
  subject: 'admin.recurringEventsChanged',
  data: RecurringEventsChanged,
});

export const keepRecurringEvents = consumer({ name: 'chat.keepRecurringEvents', event: recurringEventsChanged });

export const runtime = {
  get: operation({
    subject: 'admin.runtime.get',
    summary: 'Gives what running a bot needs to know of it and of what it has installed.',
    access: service,
    input: GetBotRuntime,
    output: BotRuntime,
  }),
  webhook: operation({
    subject: 'admin.runtime.webhook',
    summary: 'Says which installation of which bot a webhook id means.',
    access: service,
    input: FindWebhook,
    output: WebhookTarget,
  }),
};
