import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';

interface IntrospectedBot {
  workspace_id: string;
  /** Account that created the bot; null when it was deleted. */
  creator_id: string | null;
}

@Injectable()
export class IntrospectionRepository {
  constructor(private readonly database: Database) {}

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
