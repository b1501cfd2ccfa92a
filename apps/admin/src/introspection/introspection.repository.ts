import { Injectable } from '@nestjs/common';
import type { Role } from '@parley/contracts/caller';
import { Database } from '@parley/database/database';

interface IntrospectedBot {
  workspace_id: string;
  /** Of the account in the bot's workspace. */
  role: Role | null;
  /** The account that made the bot, if it still exists. */
  creator_id: string | null;
}

@Injectable()
export class IntrospectionRepository {
  constructor(private readonly database: Database) {}

  async find(botId: string, accountId: string | undefined): Promise<IntrospectedBot | undefined> {
    const [row] = await this.database.query<IntrospectedBot>(
      `SELECT bot.workspace_id, member.role, creator.id AS creator_id FROM bot
       LEFT JOIN workspace_member member ON member.workspace_id = bot.workspace_id AND member.account_id = $2
       LEFT JOIN account creator ON creator.id = bot.created_by
       WHERE bot.id = $1`,
      [botId, accountId ?? null],
    );
    return row;
  }
}
