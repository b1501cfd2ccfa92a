import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import type { Viewer } from './viewer';

/** Condition for bots visible to a `Viewer`: `$1` is `workspaceId`, `$2` is `accountId`. */
export const visible = `bot.workspace_id = $1 AND ($2::text IS NULL OR bot.allowlist = 'ALL_WORKSPACE_USERS'
  OR EXISTS (SELECT 1 FROM bot_allowed_member WHERE bot_id = bot.id AND account_id = $2))`;

@Injectable()
export class BotVisibilityRepository {
  constructor(private readonly database: Database) {}

  async isVisible({ workspaceId, accountId }: Viewer, botId: string): Promise<boolean> {
    const rows = await this.database.query(`SELECT 1 FROM bot WHERE ${visible} AND id = $3`, [
      workspaceId,
      accountId,
      botId,
    ]);
    return rows.length > 0;
  }
}
