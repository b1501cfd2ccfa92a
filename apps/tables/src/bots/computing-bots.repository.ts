import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Sql } from '@parley/persistence/database';
import { Repository } from 'typeorm';
import { ComputingBotEntity } from './bot.entity';

@Injectable()
export class ComputingBotsRepository {
  constructor(@InjectRepository(ComputingBotEntity) private readonly bots: Repository<ComputingBotEntity>) {}

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
}
