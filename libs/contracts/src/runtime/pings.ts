import { IsInt, IsString } from 'class-validator';
import { operator } from '../access';
import { Nullable } from '../fields';
import { operation } from '../operation';
import { PathParam } from '../query-fields';

export class PingBot {
  @PathParam() botId!: string;
}

export class BotPing {
  @IsInt() durationMs!: number;

  /** HTTP status of the answer. Null without an answer. */
  @Nullable() @IsInt() status!: number | null;

  /** Reason why the bot could not be called, or did not answer with success. */
  @Nullable() @IsString() error!: string | null;
}

export const pingBot = operation({
  subject: 'runtime.pingBot',
  route: 'POST /operator/runtime/bots/{botId}/ping',
  summary: 'Calls a bot without an event, and tells how it answers.',
  access: operator,
  input: PingBot,
  output: BotPing,
  timeoutMs: 20_000,
});
