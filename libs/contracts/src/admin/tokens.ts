import { IsString, Length } from 'class-validator';
import { account, workspace } from '../access';
import { ListOf, Nested, Optional } from '../fields';
import { PathParam, QueryString } from '../query-fields';
import { operation } from '../operation';
import { Empty } from '../paging';

export class TokenEntry {
  @IsString() id!: string;
  @IsString() createdAt!: string;
  @IsString() note!: string;
}

export class NewToken extends TokenEntry {
  /** Value of the token. It is returned only once. */
  @IsString() value!: string;
}

export class CreatePersonalAccessToken {
  @IsString() @Length(0, 200) note!: string;
}

export class PersonalAccessTokenReply {
  @Nested(NewToken) pat!: NewToken;
}

export class PersonalAccessTokens {
  @ListOf(TokenEntry) pats!: TokenEntry[];
}

export class TokenId {
  @PathParam() id!: string;
}

export class CreateBotApiKey {
  @IsString() botId!: string;
  @Optional() @IsString() @Length(0, 200) note?: string;
}

export class ListBotApiKeys {
  @QueryString({ required: true }) botId!: string;
}

export class BotApiKeys {
  @ListOf(TokenEntry) baks!: TokenEntry[];
}

export const personalAccessTokens = {
  create: operation({
    subject: 'admin.personalAccessTokens.create',
    route: 'POST /v1/admin/account/pats',
    summary: 'Creates a personal access token for the calling account. Its value is returned only once.',
    access: account,
    input: CreatePersonalAccessToken,
    output: PersonalAccessTokenReply,
  }),
  list: operation({
    subject: 'admin.personalAccessTokens.list',
    route: 'GET /v1/admin/account/pats',
    summary: 'Lists the personal access tokens of the calling account.',
    access: account,
    input: Empty,
    output: PersonalAccessTokens,
  }),
  delete: operation({
    subject: 'admin.personalAccessTokens.delete',
    route: 'DELETE /v1/admin/account/pats/{id}',
    summary: 'Revokes a personal access token of the calling account.',
    access: account,
    input: TokenId,
    output: Empty,
  }),
};

export const botApiKeys = {
  create: operation({
    subject: 'admin.botApiKeys.create',
    route: 'POST /v1/admin/bots/baks',
    summary: 'Creates an API key that acts as the bot. Its value is returned only once.',
    access: workspace.manage,
    input: CreateBotApiKey,
    output: NewToken,
  }),
  list: operation({
    subject: 'admin.botApiKeys.list',
    route: 'GET /v1/admin/bots/baks',
    summary: 'Lists the API keys of a bot.',
    access: workspace.manage,
    input: ListBotApiKeys,
    output: BotApiKeys,
  }),
  delete: operation({
    subject: 'admin.botApiKeys.delete',
    route: 'DELETE /v1/admin/bots/baks/{id}',
    summary: 'Revokes an API key of a bot.',
    access: workspace.manage,
    input: TokenId,
    output: Empty,
  }),
};
