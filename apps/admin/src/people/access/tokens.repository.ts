import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { ApiError } from '@parley/contracts/errors';
import { Database, type Sql } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { hashToken, tokenPreview } from '@parley/secrets/token';
import { IsNull, type Repository } from 'typeorm';
import { TokenEntity, type TokenRow } from './token.entity';

const newestEntries = { select: { id: true, note: true, created_at: true }, order: { id: 'DESC' } } as const;

@Injectable()
export class TokensRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(TokenEntity) private readonly tokens: Repository<TokenEntity>,
  ) {}

  /** Stores the hash of a token only; without hours it does not expire. Throws Unauthorized when the account is gone. */
  async createOfAccount(
    sql: Sql,
    accountId: string,
    note: string,
    token: string,
    validHours?: number,
  ): Promise<TokenRow & Pick<TokenEntity, 'valid_until'>> {
    const [row] = await sql.query<TokenRow & Pick<TokenEntity, 'valid_until'>>(
      `INSERT INTO token (id, kind, hash, preview, note, account_id, valid_until)
       SELECT $1, 'pat', $2, $3, $4, account.id, now() + make_interval(hours => $6)
       FROM account WHERE account.id = $5 FOR KEY SHARE
       RETURNING id, note, created_at, valid_until`,
      [newId('pat'), hashToken(token), tokenPreview(token), note, accountId, validHours ?? null],
    );
    if (!row) throw new ApiError('Unauthorized', 'The account was deleted.');
    return row;
  }

  /** Stores the hash of a key only. Undefined when the workspace has no such bot, or when the bot is gone. */
  async createOfBot(
    sql: Sql,
    { workspaceId, botId }: { workspaceId: string; botId: string },
    note: string,
    token: string,
  ): Promise<TokenRow | undefined> {
    const [row] = await sql.query<TokenRow>(
      `INSERT INTO token (id, kind, hash, preview, note, bot_id)
       SELECT $1, 'bak', $2, $3, $4, bot.id FROM bot WHERE bot.workspace_id = $5 AND bot.id = $6 FOR KEY SHARE
       RETURNING id, note, created_at`,
      [newId('bak'), hashToken(token), tokenPreview(token), note, workspaceId, botId],
    );
    return row;
  }

  /** Stores the hash of a key only. Undefined when the workspace is gone. */
  async createOfIntegration(
    sql: Sql,
    { workspaceId, integrationId }: { workspaceId: string; integrationId: string },
    note: string,
    token: string,
  ): Promise<TokenRow | undefined> {
    const [row] = await sql.query<TokenRow>(
      `INSERT INTO token (id, kind, hash, preview, note, integration_id, workspace_id)
       SELECT $1, 'iak', $2, $3, $4, $5, workspace.id FROM workspace WHERE workspace.id = $6 FOR KEY SHARE
       RETURNING id, note, created_at`,
      [newId('iak'), hashToken(token), tokenPreview(token), note, integrationId, workspaceId],
    );
    return row;
  }

  /** Index token_account. */
  listOfAccount(accountId: string): Promise<TokenRow[]> {
    return this.database.query(
      `SELECT id, note, created_at FROM token
       WHERE account_id = $1 AND (valid_until IS NULL OR valid_until > now()) ORDER BY id DESC`,
      [accountId],
    );
  }

  /** Index token_valid_until. */
  async deleteExpiredOfAccounts(): Promise<void> {
    await this.database.query('DELETE FROM token WHERE valid_until <= now() AND account_id IS NOT NULL');
  }

  listOfBot(botId: string): Promise<TokenRow[]> {
    return this.tokens.find({ ...newestEntries, where: { bot_id: botId, version_id: IsNull() } });
  }

  async deleteOfAccount(accountId: string, id: string): Promise<boolean> {
    const { affected } = await this.tokens.delete({ id, account_id: accountId });
    return affected === 1;
  }

  /** Returns the id of the key's bot. Undefined when no bot of the workspace has this key. */
  async deleteOfWorkspaceBots(sql: Sql, workspaceId: string, id: string): Promise<string | undefined> {
    const [row] = await sql.query<{ bot_id: string }>(
      `DELETE FROM token USING bot
       WHERE token.id = $2 AND token.bot_id = bot.id AND bot.workspace_id = $1 AND token.version_id IS NULL
       RETURNING token.bot_id`,
      [workspaceId, id],
    );
    return row?.bot_id;
  }

  /** Index token_integration. */
  listOfIntegration(workspaceId: string, integrationId: string): Promise<TokenRow[]> {
    const where = { workspace_id: workspaceId, integration_id: integrationId, version_id: IsNull() };
    return this.tokens.find({ ...newestEntries, where });
  }

  /** Returns the id of the key's integration. Undefined when no integration of the workspace has this key. */
  async deleteOfWorkspaceIntegrations(sql: Sql, workspaceId: string, id: string): Promise<string | undefined> {
    const [row] = await sql.query<{ integration_id: string }>(
      'DELETE FROM token WHERE id = $2 AND workspace_id = $1 AND version_id IS NULL RETURNING integration_id',
      [workspaceId, id],
    );
    return row?.integration_id;
  }

  async deleteOfIntegration(integrationId: string): Promise<void> {
    await this.tokens.delete({ integration_id: integrationId });
  }
}
