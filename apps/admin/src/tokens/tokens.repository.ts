import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '@parley/database/database';
import { newId } from '@parley/database/ids';
import { hashToken, tokenPreview } from '@parley/secrets/token';
import type { TokenRow } from './token.entity';

/** Who a token speaks for. */
export type TokenOwner = { accountId: string } | { botId: string };

@Injectable()
export class TokensRepository {
  constructor(private readonly database: Database) {}

  /** Stores a token by its hash. The token itself is not kept. */
  async create(sql: Sql, owner: TokenOwner, note: string, token: string): Promise<TokenRow> {
    const kind = 'accountId' in owner ? 'pat' : 'bak';
    const [row] = await sql.query<TokenRow>(
      `INSERT INTO token (id, kind, hash, preview, note, account_id, bot_id) VALUES ($1, $2, $3, $4, $5, $6, $7)
       RETURNING id, note, created_at`,
      [
        newId(kind),
        kind,
        hashToken(token),
        tokenPreview(token),
        note,
        'accountId' in owner ? owner.accountId : null,
        'botId' in owner ? owner.botId : null,
      ],
    );
    return row!;
  }

  async listOfAccount(accountId: string): Promise<TokenRow[]> {
    return this.database.query('SELECT id, note, created_at FROM token WHERE account_id = $1 ORDER BY id DESC', [accountId]);
  }

  async listOfBot(botId: string): Promise<TokenRow[]> {
    return this.database.query('SELECT id, note, created_at FROM token WHERE bot_id = $1 ORDER BY id DESC', [botId]);
  }

  async deleteOfAccount(accountId: string, id: string): Promise<boolean> {
    const rows = await this.database.query('DELETE FROM token WHERE id = $2 AND account_id = $1 RETURNING 1', [accountId, id]);
    return rows.length > 0;
  }

  async deleteOfWorkspaceBots(workspaceId: string, id: string): Promise<boolean> {
    const rows = await this.database.query(
      `DELETE FROM token USING bot
       WHERE token.id = $2 AND token.bot_id = bot.id AND bot.workspace_id = $1 RETURNING 1`,
      [workspaceId, id],
    );
    return rows.length > 0;
  }
}
