import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import type { BotDefinition } from '../installations/bot-definition';
import type { BotEntity } from '../bots/bot.entity';

export interface BotTargetRow extends Pick<
  BotEntity,
  'workspace_id' | 'url' | 'dev' | 'blocked' | 'tags' | 'max_execution_time' | 'signing_secret'
> {
  version_id: string | null;
  code_hash: string | null;
  /** Encrypted. */
  secrets: Record<string, string>;
  subscriptions: BotDefinition['subscriptions'];
  configuration: Record<string, unknown>;
  /** Encrypted, newest first. */
  former_secrets: string[];
}

@Injectable()
export class BotTargetsRepository {
  constructor(private readonly database: Database) {}

  /** One round trip. Index bot_pkey, bot_version_pkey, bot_former_signing_secret_pkey. */
  async findByBotId(botId: string): Promise<BotTargetRow | undefined> {
    const [row] = await this.database.query<BotTargetRow>(
      `SELECT workspace_id, version_id, secrets, url, dev, blocked, tags, max_execution_time, signing_secret,
         definition -> 'subscriptions' AS subscriptions, definition -> 'configuration' -> 'data' AS configuration,
         (SELECT code_hash FROM bot_version WHERE id = version_id) AS code_hash,
         ARRAY(SELECT secret FROM bot_former_signing_secret WHERE bot_id = bot.id AND valid_until > now()
           ORDER BY valid_until DESC) AS former_secrets
       FROM bot WHERE id = $1`,
      [botId],
      'bot_target',
    );
    return row;
  }
}
