import { Injectable } from '@nestjs/common';
import type { Identify } from '@parley/contracts/admin/identity';
import { rolesWith } from '@parley/contracts/access';
import type { Role } from '@parley/contracts/caller';
import { Database } from '@parley/persistence/database';

export interface TokenHolder {
  kind: 'pat' | 'bak' | 'iak';
  accountId: string | null;
  email: string | null;
  /** Named workspace, or else the account's only workspace; null when the account is not a member of it. */
  workspaceId: string | null;
  role: Role | null;
  /** Bot of the key, or else the named bot. */
  botId: string | null;
  botWorkspaceId: string | null;
  isBotBlocked: boolean | null;
  /** Whether the allowlist of the bot admits the account. Roles are not taken into account. */
  isBotOpen: boolean | null;
  botRole: Role | null;
  integrationId: string | null;
  integrationWorkspaceId: string | null;
  /**
   * Enabled installations of the bot that match the named alias or integration, or else the key's integration. For the
   * key of an integration also those that it has to unregister.
   */
  installations: { alias: string; id: string }[];
}

interface IntrospectedBot {
  workspace_id: string;
  /** Account that created the bot; null when it was deleted. */
  creator_id: string | null;
}

@Injectable()
export class IdentityRepository {
  constructor(private readonly database: Database) {}

  /**
   * Resolves the credential and the context headers of a request in one round trip. Indexes token_hash_key and, for an
   * implied workspace, workspace_member_account.
   */
  async findTokenHolder({
    tokenHash,
    workspaceId,
    isWorkspaceImplied,
    botId,
    integrationAlias,
    integrationId,
  }: Identify): Promise<TokenHolder | undefined> {
    const [row] = await this.database.query<TokenHolder>(
      `SELECT token.kind, account.id AS "accountId", account.email,
              member.workspace_id AS "workspaceId", member.role,
              bot.id AS "botId", bot.workspace_id AS "botWorkspaceId", bot.blocked AS "isBotBlocked",
              bot.allowlist = 'ALL_WORKSPACE_USERS' OR EXISTS (
                SELECT 1 FROM bot_allowed_member allowed WHERE allowed.bot_id = bot.id AND allowed.account_id = account.id
              ) AS "isBotOpen",
              bot_member.role AS "botRole",
              token.integration_id AS "integrationId", token.workspace_id AS "integrationWorkspaceId",
              (SELECT coalesce(json_agg(json_build_object('alias', alias, 'id', installation.integration_id)), '[]')
               FROM (
                 SELECT alias, integration_id FROM installation WHERE bot_id = bot.id AND enabled
                 UNION SELECT alias, integration_id FROM former_installation WHERE bot_id = bot.id AND token.kind = 'iak'
               ) AS installation
               WHERE alias = $4 OR installation.integration_id = coalesce($5, token.integration_id)
              ) AS installations
       FROM token
       LEFT JOIN account ON account.id = token.account_id
       LEFT JOIN workspace_member member ON member.account_id = account.id AND member.workspace_id = CASE
         WHEN $6::boolean THEN (
           SELECT CASE count(*) WHEN 1 THEN min(workspace_id) END
           FROM (SELECT workspace_id FROM workspace_member WHERE account_id = token.account_id LIMIT 2) own)
         ELSE $2 END
       LEFT JOIN bot ON bot.id = coalesce(token.bot_id, $3)
       LEFT JOIN workspace_member bot_member
         ON bot_member.account_id = account.id AND bot_member.workspace_id = bot.workspace_id
       WHERE token.hash = $1 AND (token.valid_until IS NULL OR token.valid_until > now())`,
      [
        tokenHash,
        workspaceId ?? null,
        botId ?? null,
        integrationAlias ?? null,
        integrationId ?? null,
        isWorkspaceImplied === true,
      ],
    );
    return row;
  }

  async findRoleInBot(accountId: string, botId: string): Promise<{ role: Role; workspaceId: string } | undefined> {
    const [row] = await this.database.query<{ role: Role; workspaceId: string }>(
      `SELECT member.role, bot.workspace_id AS "workspaceId" FROM bot JOIN workspace_member member ON member.workspace_id = bot.workspace_id
       WHERE member.account_id = $1 AND bot.id = $2 AND (bot.allowlist = 'ALL_WORKSPACE_USERS'
         OR member.role = ANY($3)
         OR EXISTS (SELECT 1 FROM bot_allowed_member allowed WHERE allowed.bot_id = bot.id AND allowed.account_id = $1))`,
      [accountId, botId, rolesWith('manage')],
    );
    return row;
  }

  async findBotWithCreator(botId: string): Promise<IntrospectedBot | undefined> {
    const [row] = await this.database.query<IntrospectedBot>(
      `SELECT bot.workspace_id, creator.id AS creator_id FROM bot
       LEFT JOIN account creator ON creator.id = bot.created_by
       WHERE bot.id = $1`,
      [botId],
    );
    return row;
  }
}
