import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import type { BotDefinition } from '../installations/bot-definition';
import type { InstallationRow, PluginDefinition, PluginRow } from '../installations/installation.entity';

export interface BotDefinitionRow {
  workspace_id: string;
  states: BotDefinition['states'];
  recurring_events: BotDefinition['recurringEvents'];
  recurring_events_revision: number;
  installations: (Pick<InstallationRow, 'alias' | 'integration_id' | 'webhook_id' | 'enabled' | 'disabled_channels'> & {
    name: string;
  })[];
  /** Enabled plugins only. */
  plugins: (Pick<PluginRow, 'alias' | 'enabled' | 'recurring_events'> & { states: PluginDefinition['states'] })[];
}

export interface WebhookRow extends Pick<InstallationRow, 'alias' | 'integration_id' | 'enabled' | 'configuration'> {
  bot_id: string;
  workspace_id: string;
  is_blocked: boolean;
  name: string;
}

@Injectable()
export class BotDefinitionsRepository {
  constructor(private readonly database: Database) {}

  /** One round trip. Index bot_pkey, installation_pkey, bot_plugin_pkey. */
  async findByBotId(botId: string): Promise<BotDefinitionRow | undefined> {
    const [row] = await this.database.query<BotDefinitionRow>(
      `SELECT workspace_id, recurring_events_revision,
         definition -> 'states' AS states, definition -> 'recurringEvents' AS recurring_events,
         (SELECT coalesce(json_agg(installed ORDER BY alias), '[]') FROM (
            SELECT alias, integration_id, summary ->> 'name' AS name, webhook_id, enabled, disabled_channels
            FROM installation WHERE bot_id = bot.id) AS installed) AS installations,
         (SELECT coalesce(json_agg(added ORDER BY alias), '[]') FROM (
            SELECT alias, enabled, definition -> 'states' AS states, recurring_events
            FROM bot_plugin WHERE bot_id = bot.id AND enabled) AS added) AS plugins
       FROM bot WHERE id = $1`,
      [botId],
    );
    return row;
  }

  /** Index installation_webhook_id_key. */
  async findByWebhookId(webhookId: string): Promise<WebhookRow | undefined> {
    const [row] = await this.database.query<WebhookRow>(
      `SELECT bot_id, workspace_id, blocked AS is_blocked, alias, integration_id, summary ->> 'name' AS name, enabled,
         configuration
       FROM installation JOIN bot ON bot.id = bot_id WHERE webhook_id = $1`,
      [webhookId],
    );
    return row;
  }
}
