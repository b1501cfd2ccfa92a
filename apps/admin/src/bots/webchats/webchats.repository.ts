import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { WebchatSettings } from '@parley/contracts/admin/webchats';
import { Database, type Sql } from '@parley/persistence/database';
import type { Repository } from 'typeorm';
import { visible } from '../../people/access/bot-visibility.repository';
import type { Viewer } from '../../people/access/viewer';
import { builtInChat } from '../installations/built-in-chat';
import { WebchatSettingsEntity } from './webchat-settings.entity';

export interface WebchatRow {
  name: string;
  webhookId: string;
  settings: WebchatSettings | null;
}

const webchat = `
  SELECT bot.name, installation.webhook_id AS "webhookId", settings
  FROM installation JOIN bot ON bot.id = installation.bot_id LEFT JOIN webchat_settings USING (bot_id)
  WHERE installation.integration_id = '${builtInChat.id}'`;

@Injectable()
export class WebchatsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(WebchatSettingsEntity) private readonly settings: Repository<WebchatSettingsEntity>,
  ) {}

  async findSettings(botId: string): Promise<WebchatSettings> {
    return (await this.settings.findOneBy({ bot_id: botId }))?.settings ?? {};
  }

  /** Name of the bot; undefined when the viewer does not see it. */
  async upsertSettings(
    tx: Sql,
    { workspaceId, accountId }: Viewer,
    botId: string,
    settings: WebchatSettings,
  ): Promise<string | undefined> {
    const [row] = await tx.query<{ name: string }>(
      `WITH found AS (SELECT id, name FROM bot WHERE ${visible} AND id = $3 FOR KEY SHARE),
       stored AS (
         INSERT INTO webchat_settings (bot_id, settings) SELECT id, $4::jsonb FROM found
         ON CONFLICT (bot_id) DO UPDATE SET settings = excluded.settings)
       SELECT name FROM found`,
      [workspaceId, accountId, botId, JSON.stringify(settings)],
    );
    return row?.name;
  }

  /** Undefined for a bot without the chat integration. Primary key of installation. */
  async findByBot(botId: string): Promise<WebchatRow | undefined> {
    const [row] = await this.database.query<WebchatRow>(
      `${webchat} AND installation.bot_id = $1 ORDER BY alias LIMIT 1`,
      [botId],
    );
    return row;
  }

  async findNewest(workspaceId: string): Promise<string | undefined> {
    const [row] = await this.database.query<WebchatRow>(
      `${webchat} AND workspace_id = $1 AND enabled AND NOT blocked ORDER BY bot.created_at DESC LIMIT 1`,
      [workspaceId],
    );
    return row?.webhookId;
  }

  /** Undefined while the chat integration is disabled or the bot blocked. Index installation_webhook_id_key. */
  async findByWebhookId(webhookId: string): Promise<WebchatRow | undefined> {
    const [row] = await this.database.query<WebchatRow>(
      `${webchat} AND installation.webhook_id = $1 AND enabled AND NOT blocked`,
      [webhookId],
    );
    return row;
  }
}
