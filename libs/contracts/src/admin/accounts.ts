import { IsEmail, IsString, Length } from 'class-validator';
import { operator } from '../access';
import { Optional } from '../fields';
import { operation } from '../operation';

export class CreateAccount {
  @IsEmail()
  email!: string;
}

export class AccountReply {
  @IsString()
  id!: string;

  @IsString()
  email!: string;

  /** A workspace of its own, made with the account. */
  @IsString()
  workspaceId!: string;
}

export class CreateAccountToken {
  @IsEmail()
  email!: string;

  @Optional()
  @IsString()
  @Length(0, 200)
  note?: string;
}

export class AccountToken {
  @IsString()
  value!: string;
}

/** For whoever runs the platform: called by the `parley` command with the operator key. */
export const accounts = {
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
