import { IsArray, IsBoolean, IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { JsonObject, MapOf, Nested, Nullable } from '../fields';
import { consumer, event, operation } from '../operation';

export class GetBotTarget {
  @IsString()
  botId!: string;
}

/** Deployed code of a bot. */
export class CodeTarget {
  /** Changes with the code and with the secrets of the bot. */
  @IsString()
  revision!: string;

  /** For runners: see `botCode`. Valid for some minutes. */
  @IsString()
  ticket!: string;
}

/** All that a call of the bot needs. Contains decrypted secrets. */
export class BotTarget {
  @IsString()
  botId!: string;

  @IsString()
  workspaceId!: string;

  /** Server of the bot. It takes precedence over code. */
  @Nullable()
  @IsString()
  url!: string | null;

  /** Deployed code. Null without code. */
  @Nullable()
  @Nested(CodeTarget)
  code!: CodeTarget | null;

  @IsBoolean()
  isDev!: boolean;

  @IsBoolean()
  isBlocked!: boolean;

  /** Event types that the bot receives. Null: all. */
  @Nullable()
  @IsArray()
  @IsString({ each: true })
  subscriptions!: string[] | null;

  /** `configuration.data` of the bot. */
  @JsonObject()
  configuration!: Record<string, unknown>;

  @MapOf(String)
  tags!: Record<string, string>;

  /** `maxExecutionTime` of the bot, or its default, at most the quota invocation_timeout. */
  @IsInt()
  timeoutMs!: number;

  /** Quota invocation_calls of the workspace. */
  @IsInt()
  callsPerMonth!: number;

  /** Whether the workspace has used up `callsPerMonth`. */
  @IsBoolean()
  isOverQuota!: boolean;

  /** Current signing secret first, then those that a rotation replaced in the last 24 hours. */
  @IsArray()
  @IsString({ each: true })
  signingSecrets!: string[];
}

/** Change notification: a bot has another url, code, configuration or status. */
export class BotTargetChanged {
  @IsString()
  botId!: string;

  /** True after a deployment, which registers the bot. */
  @IsBoolean()
  isDeployed!: boolean;

  /** Whether events are delivered to the bot: it has a url or code, and is not blocked. */
  @IsBoolean()
  isCalled!: boolean;

  /** Increases with every change of the bot. */
  @IsInt()
  revision!: number;
}

export const botTargetChanged = event({ subject: 'admin.botTargetChanged', data: BotTargetChanged });

export const wakeDeliveries = consumer({ name: 'runtime.wakeDeliveries', event: botTargetChanged, concurrency: 4 });

export const registerBot = consumer({ name: 'runtime.registerBot', event: botTargetChanged, concurrency: 4 });
export const noteCalledBot = consumer({ name: 'chat.noteCalledBot', event: botTargetChanged, concurrency: 4 });

export const targets = {
  getBot: operation({
    subject: 'admin.targets.getBot',
    summary: 'Gets all that a call of the bot needs: address, configuration and signing secrets.',
    access: service,
    input: GetBotTarget,
    output: BotTarget,
  }),
};
