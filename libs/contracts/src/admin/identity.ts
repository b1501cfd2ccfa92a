import { IsIn, IsString } from 'class-validator';
import { service } from '../access';
import type { Caller } from '../caller';
import { JsonObject, Optional } from '../fields';
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
};
