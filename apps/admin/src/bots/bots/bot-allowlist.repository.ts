import { Injectable } from '@nestjs/common';
import type { AllowlistSetting } from '@parley/contracts/admin/bot-allowlist';
import { Database, type Sql } from '@parley/persistence/database';
import { In } from 'typeorm';
import { visible } from '../../people/access/bot-visibility.repository';
import { BotAllowedMemberEntity, BotEntity } from './bot.entity';
import type { Viewer } from '../../people/access/viewer';

interface AllowlistRow {
  setting: AllowlistSetting;
  account_ids: string[];
}

@Injectable()
export class BotAllowlistRepository {
  constructor(private readonly database: Database) {}

  async findByBot({ workspaceId, accountId }: Viewer, botId: string): Promise<AllowlistRow | undefined> {
    const [row] = await this.database.query<AllowlistRow>(
      `SELECT allowlist AS setting,
         ARRAY(SELECT account_id FROM bot_allowed_member WHERE bot_id = bot.id ORDER BY account_id) AS account_ids
       FROM bot WHERE ${visible} AND id = $3`,
      [workspaceId, accountId, botId],
    );
    return row;
  }

  async updateSetting(tx: Sql, botId: string, setting: AllowlistSetting): Promise<void> {
    await tx.manager.update(BotEntity, { id: botId }, { allowlist: setting });
  }

  /**
   * Adds the accounts that are members of the workspace. Returns the members among `accountIds`, including those listed
   * before.
   */
  async allowMembers(tx: Sql, botId: string, workspaceId: string, accountIds: string[]): Promise<string[]> {
    const rows = await tx.query<{ account_id: string }>(
      `WITH member AS (
         SELECT account_id FROM workspace_member WHERE workspace_id = $2 AND account_id = ANY($3::text[]) FOR KEY SHARE
       ), added AS (
         INSERT INTO bot_allowed_member (bot_id, workspace_id, account_id) SELECT $1, $2, account_id FROM member
         ON CONFLICT DO NOTHING
       )
       SELECT account_id FROM member`,
      [botId, workspaceId, accountIds],
    );
    return rows.map(({ account_id }) => account_id);
  }

  async disallowMembers(tx: Sql, botId: string, accountIds: string[]): Promise<void> {
    await tx.manager.delete(BotAllowedMemberEntity, { bot_id: botId, account_id: In(accountIds) });
  }
}
