import { IsString } from 'class-validator';
import { token } from '../access';
import { operation } from '../operation';

export class Introspect {
  @IsString() botId!: string;
}

export class Introspection {
  @IsString() workspaceId!: string;
  @IsString() botId!: string;

  /** Account that the token belongs to. For a bot key: the account that created the bot, empty after its deletion. */
  @IsString() userId!: string;
}

export const introspection = {
  introspect: operation({
    subject: 'admin.introspection.introspect',
    route: 'POST /v1/admin/introspect',
    summary: 'Gets the account of the token and the workspace of a bot that the token may read.',
    access: token,
    input: Introspect,
    output: Introspection,
  }),
};
