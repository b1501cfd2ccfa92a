import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Database, type Sql } from '@parley/persistence/database';
import { Repository } from 'typeorm';
import { BotHomeEntity, ComputingBotEntity } from './bot.entity';

/** Facts about bots that admin announces. */
@Injectable()
export class BotsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(ComputingBotEntity) private readonly bots: Repository<ComputingBotEntity>,
    @InjectRepository(BotHomeEntity) private readonly homes: Repository<BotHomeEntity>,
  ) {}

  /** Whether the bot computes the code columns of its tables. */
  computesRows(botId: string): Promise<boolean> {
    return this.bots.existsBy({ bot_id: botId, computes_rows: true });
  }

  /** True if the bot computes rows from now on and did not before. False if this or a newer revision was stored before. */
  async storeNewer(tx: Sql, botId: string, computesRows: boolean, revision: number): Promise<boolean> {
    const [row] = await tx.query<{ is_new: boolean }>(
      `INSERT INTO computing_bot (bot_id, computes_rows, revision)
       SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT FROM deleted_bot WHERE bot_id = $1)
       ON CONFLICT (bot_id) DO UPDATE SET computes_rows = excluded.computes_rows, revision = excluded.revision
       WHERE computing_bot.revision < excluded.revision
       RETURNING computes_rows AND NOT EXISTS (
         SELECT FROM computing_bot former WHERE former.bot_id = $1 AND former.computes_rows) AS is_new`,
      [botId, computesRows, revision],
    );
    return row?.is_new ?? false;
  }

  async findWorkspaceId(botId: string): Promise<string | undefined> {
    return (await this.homes.findOneBy({ bot_id: botId }))?.workspace_id;
  }

  /** Stores the workspace of a bot, unless one is known. */
  async noteHome({ id, workspaceId }: { id: string; workspaceId: string }): Promise<void> {
    await this.database.query(
      `INSERT INTO bot_home (bot_id, workspace_id)
       SELECT $1, $2 WHERE NOT EXISTS (SELECT FROM deleted_bot WHERE bot_id = $1) ON CONFLICT DO NOTHING`,
      [id, workspaceId],
    );
  }

  /** Stores the workspace of a bot, unless a newer event was applied. */
  async moveHome(botId: string, workspaceId: string, eventId: string): Promise<void> {
    await this.database.query(
      `INSERT INTO bot_home (bot_id, workspace_id, moved_by)
       SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT FROM deleted_bot WHERE bot_id = $1)
       ON CONFLICT (bot_id) DO UPDATE SET workspace_id = excluded.workspace_id, moved_by = excluded.moved_by
       WHERE bot_home.moved_by IS NULL OR bot_home.moved_by < excluded.moved_by`,
      [botId, workspaceId, eventId],
    );
  }
}
