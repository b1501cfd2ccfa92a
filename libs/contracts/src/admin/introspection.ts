import { IsString } from 'class-validator';
import { token } from '../access';
import { operation } from '../operation';

export class Introspect {
  @IsString()
  botId!: string;
}

export class Introspection {
  @IsString()
  workspaceId!: string;

  @IsString()
  botId!: string;

  /** The account that the token speaks for; of a bot key, the account that made the bot, empty when that is gone. */
  @IsString()
  userId!: string;
}

export const introspection = {
  introspect: operation({
    subject: 'admin.introspection.introspect',
    route: 'POST /v1/admin/introspect',
    summary: 'Says in which workspace a bot is that the token may read, and whose token it is.',
    access: token,
    input: Introspect,
    output: Introspection,
  }),
};
