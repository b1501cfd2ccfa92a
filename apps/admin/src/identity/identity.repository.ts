import { Injectable } from '@nestjs/common';
import type { Role } from '@parley/contracts/caller';
import { Database } from '@parley/database/database';

export interface TokenHolder {
  kind: 'pat' | 'bak';
  accountId: string | null;
  email: string | null;
  /** Of the named workspace, when the account is a member. */
  role: Role | null;
  /** The named bot, or the bot of the key. */
  botId: string | null;
  botWorkspaceId: string | null;
  isBotBlocked: boolean | null;
  /** The account may see the named bot, whatever its role. */
  isBotOpen: boolean | null;
  /** Of the named bot's workspace. */
  botRole: Role | null;
}

@Injectable()
export class IdentityRepository {
  constructor(private readonly database: Database) {}

  /** Everything that a request's credential and context headers lead to, in one round trip. Index token_hash_key. */
  async find(
    hash: string,
    workspaceId: string | undefined,
    botId: string | undefined,
  ): Promise<TokenHolder | undefined> {
    const [row] = await this.database.query<TokenHolder>(
      `SELECT token.kind, account.id AS "accountId", account.email, member.role,
              bot.id AS "botId", bot.workspace_id AS "botWorkspaceId", bot.blocked AS "isBotBlocked",
              bot.allowlist = 'ALL_WORKSPACE_USERS' OR EXISTS (
                SELECT 1 FROM bot_allowed_member allowed WHERE allowed.bot_id = bot.id AND allowed.account_id = account.id
              ) AS "isBotOpen",
              bot_member.role AS "botRole"
       FROM token
       LEFT JOIN account ON account.id = token.account_id
       LEFT JOIN workspace_member member ON member.account_id = account.id AND member.workspace_id = $2
       LEFT JOIN bot ON bot.id = coalesce(token.bot_id, $3)
       LEFT JOIN workspace_member bot_member
         ON bot_member.account_id = account.id AND bot_member.workspace_id = bot.workspace_id
       WHERE token.hash = $1`,
      [hash, workspaceId ?? null, botId ?? null],
    );
    return row;
  }
}
