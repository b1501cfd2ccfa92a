import { IsBoolean, IsIn, IsString } from 'class-validator';
import { service } from '../access';
import type { Caller, CallerQuotas, Role } from '../caller';
import { JsonObject, Nullable, Optional } from '../fields';
import { broadcast, operation } from '../operation';

/** What a request shows of who it comes from. The token itself never travels: only its SHA-256 does. */
export class Identify {
  /** SHA-256 of the token, in hex. */
  @IsString()
  tokenHash!: string;

  @IsIn(['pat', 'bak', 'iak', 'operator'])
  kind!: 'pat' | 'bak' | 'iak' | 'operator';

  @Optional()
  @IsString()
  workspaceId?: string;

  /** The only workspace of the account is meant. With several, or none, the answer has no workspace. */
  @Optional()
  @IsBoolean()
  isWorkspaceImplied?: boolean;

  @Optional()
  @IsString()
  botId?: string;

  /** Alias of an installation, named by `x-integration-alias` or `x-integration-name`. */
  @Optional()
  @IsString()
  integrationAlias?: string;

  /** Named by `x-integration-id`. */
  @Optional()
  @IsString()
  integrationId?: string;

  /** Named by `x-user-id`. */
  @Optional()
  @IsString()
  userId?: string;
}

export class Identity {
  @JsonObject()
  caller!: Omit<Caller, 'requestId' | 'traceparent'>;
}

export class AccountAndBot {
  @IsString()
  accountId!: string;

  @IsString()
  botId!: string;
}

export class RoleInBot {
  /** Of the account in the workspace of the bot; `null` when it has none or there is no such bot. */
  @Nullable()
  @IsString()
  role!: Role | null;

  /** Of the bot, where there is a role. */
  @Optional()
  @IsString()
  workspaceId?: string;

  /** Of the workspace, where there is a role. */
  @Optional()
  @JsonObject()
  quotas?: CallerQuotas;
}

/** Some credential, role or bot is no longer what it was: whoever keeps answers of `identify` drops them all. */
export class CredentialsChanged {
  @IsString()
  reason!: string;
}

export const credentialsChanged = broadcast({ subject: 'admin.credentialsChanged', data: CredentialsChanged });

export const identity = {
  identify: operation({
    subject: 'admin.identify',
    summary: 'Says who a token speaks for in a workspace or as a bot, or why it may not.',
    access: service,
    input: Identify,
    output: Identity,
    timeoutMs: 5_000,
  }),
  roleInBot: operation({
    subject: 'admin.identity.roleInBot',
    summary: 'Says what an account may do with a bot that a query names.',
    access: service,
    input: AccountAndBot,
    output: RoleInBot,
  }),
};
