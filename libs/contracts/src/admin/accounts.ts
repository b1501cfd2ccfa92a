import { IsBoolean, IsEmail, IsString, Length, MaxLength } from 'class-validator';
import { account, operator } from '../access';
import { Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';

export class CreateAccount {
  @IsEmail() email!: string;
}

export class AccountReply {
  @IsString() id!: string;
  @IsString() email!: string;

  /** Workspace that is created together with the account. */
  @IsString() workspaceId!: string;
}

export class CreateAccountToken {
  @IsEmail() email!: string;
  @Optional() @IsString() @Length(0, 200) note?: string;
}

export class AccountToken {
  @IsString() value!: string;
}

export class AccountProfile {
  @IsString() id!: string;
  @IsString() email!: string;
  @Optional() @IsString() displayName?: string;

  /** Always true: the operator who creates the account vouches for the address. */
  @IsBoolean() emailVerified!: boolean;

  @Optional() @IsString() profilePicture?: string;
  @IsString() createdAt!: string;
}

export class AccountProfileReply {
  @Nested(AccountProfile) account!: AccountProfile;
}

/** Absent fields stay unchanged. */
export class UpdateAccount {
  @Optional() @IsString() @MaxLength(100) displayName?: string;
  @Optional() @IsString() @MaxLength(2000) profilePicture?: string;

  /** Ignored; accepted for compatibility with existing clients. */
  @Optional() @IsBoolean() refresh?: boolean;
}

export const accounts = {
  get: operation({
    subject: 'admin.accounts.get',
    route: 'GET /v1/admin/account/me',
    summary: 'Gets the calling account.',
    access: account,
    input: Empty,
    output: AccountProfileReply,
  }),
  update: operation({
    subject: 'admin.accounts.update',
    route: 'PUT /v1/admin/account/me',
    summary: 'Changes the name and picture of the calling account.',
    access: account,
    input: UpdateAccount,
    output: AccountProfileReply,
  }),
  delete: operation({
    subject: 'admin.accounts.delete',
    route: 'POST /v1/admin/account/me',
    summary: 'Deletes the calling account with its tokens and memberships, and the workspaces without other members.',
    access: account,
    input: Empty,
    output: Empty,
  }),
  // Operator operations: called by the `parley` command with the operator key.
  create: operation({
    subject: 'admin.accounts.create',
    route: 'POST /operator/accounts',
    summary: 'Creates an account with a workspace of its own.',
    access: operator,
    input: CreateAccount,
    output: AccountReply,
  }),
  createToken: operation({
    subject: 'admin.accounts.createToken',
    route: 'POST /operator/tokens',
    summary: 'Creates a personal access token for an account.',
    access: operator,
    input: CreateAccountToken,
    output: AccountToken,
  }),
};
