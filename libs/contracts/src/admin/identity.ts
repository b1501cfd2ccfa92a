import { IsBoolean, IsIn, IsString } from 'class-validator';
import { service } from '../access';
import type { Caller, CallerQuotas, Role } from '../caller';
import { JsonObject, Nullable, Optional } from '../fields';
import { broadcast, operation } from '../operation';

/** Credentials and headers of a request, to be authenticated. Holds the SHA-256 of the token, never the token. */
export class Identify {
  /** SHA-256 of the token, in hex. */
  @IsString() tokenHash!: string;

  @IsIn(['pat', 'bak', 'iak', 'operator']) kind!: 'pat' | 'bak' | 'iak' | 'operator';
  @Optional() @IsString() workspaceId?: string;

  /**
   * Requests the single workspace of the account. An account with several workspaces, or none, gets an identity without
   * a workspace.
   */
  @Optional() @IsBoolean() isWorkspaceImplied?: boolean;

  /** Requests the workspace of the platform's operator. An account that is not a member of it gets Forbidden. */
  @Optional() @IsBoolean() isForOperators?: boolean;

  @Optional() @IsString() botId?: string;

  /** Alias of an installation, from the header `x-integration-alias` or `x-integration-name`. */
  @Optional() @IsString() integrationAlias?: string;

  /** From the header `x-integration-id`. */
  @Optional() @IsString() integrationId?: string;

  /** From the header `x-user-id`. Only a gateway of 0.2.0 sends it; later ones ask the chat service themselves. */
  @Optional() @IsString() userId?: string;

  /** Another bot that the request names: `caller.otherBot` gets the role of the account in it. */
  @Optional() @IsString() otherBotId?: string;

  /** Requests the label of the workspace, in `caller.workspace.label`. */
  @Optional() @IsBoolean() isWorkspaceLabelled?: boolean;
}

export class Identity {
  @JsonObject() caller!: Omit<Caller, 'requestId' | 'traceparent'>;
}

export class AccountAndBot {
  @IsString() accountId!: string;
  @IsString() botId!: string;
}

export class RoleInBot {
  /** Role of the account in the workspace of the bot; `null` when it has none or the bot does not exist. */
  @Nullable() @IsString() role!: Role | null;

  /** Workspace of the bot; present when there is a role. */
  @Optional() @IsString() workspaceId?: string;

  /** Quotas of the workspace; present when there is a role. */
  @Optional() @JsonObject() quotas?: CallerQuotas;
}

/** Cache invalidation: a credential, role or bot has changed. Caches of `identify` drop all their entries. */
export class CredentialsChanged {
  @IsString() reason!: string;
}

export const credentialsChanged = broadcast({ subject: 'admin.credentialsChanged', data: CredentialsChanged });

export const identity = {
  identify: operation({
    subject: 'admin.identify',
    summary: 'Authenticates a token and resolves the workspace, bot, installation and user that its request names.',
    access: service,
    input: Identify,
    output: Identity,
    timeoutMs: 5_000,
  }),
  roleInBot: operation({
    subject: 'admin.identity.roleInBot',
    summary: 'Gets the role of an account in the workspace of a bot.',
    access: service,
    input: AccountAndBot,
    output: RoleInBot,
  }),
};
