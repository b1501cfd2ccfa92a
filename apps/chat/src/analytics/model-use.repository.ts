import { Injectable } from '@nestjs/common';
import type { ModelUseCounted } from '@parley/contracts/models/use';
import { Database } from '@parley/persistence/database';
import { deleteOlder } from '@parley/persistence/delete-older';
import type { ModelUseEntity } from './analytics.entity';

@Injectable()
export class ModelUseRepository {
  constructor(private readonly database: Database) {}

  /** Keeps the newest figures of an hour, and none of a deleted bot. */
  async upsert({ botId, hour, ...figures }: ModelUseCounted): Promise<void> {
    await this.database.query(
      `INSERT INTO model_use (bot_id, hour, calls, figures)
       SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT FROM dropped_bot WHERE bot_id = $1)
       ON CONFLICT (bot_id, hour) DO UPDATE SET calls = excluded.calls, figures = excluded.figures
       WHERE model_use.calls < excluded.calls`,
      [botId, hour, figures.calls, JSON.stringify(figures)],
    );
  }

  /** Primary key. */
  list(botId: string, from: Date, until: Date): Promise<Pick<ModelUseEntity, 'hour' | 'figures'>[]> {
    return this.database.query(
      `SELECT hour, figures FROM model_use WHERE bot_id = $1 AND hour >= $2 AND hour < $3 ORDER BY hour`,
      [botId, from, until],
    );
  }

  /** Index model_use_hour. */
  async deleteBefore(days: number): Promise<void> {
    await deleteOlder(this.database, 'model_use', 'hour', days * 24);
  }
}
