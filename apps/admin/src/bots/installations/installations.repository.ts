import { Injectable } from '@nestjs/common';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { builtInChat, chatAlias } from './built-in-chat';
import { InstallationEntity, type InstallationRow, type InstalledRows, type PluginRow } from './installation.entity';

/** Subqueries of a statement on `bot` that fill InstalledRows. Index installation_pkey, bot_plugin_pkey. */
export const installedColumns = `
  (SELECT coalesce(json_agg(installation ORDER BY alias), '[]') FROM installation WHERE bot_id = bot.id) AS integrations,
  (SELECT coalesce(json_agg(bot_plugin ORDER BY alias), '[]') FROM bot_plugin WHERE bot_id = bot.id) AS plugins`;

export interface InstallationWrites {
  integrations: InstallationRow[];
  removedIntegrations: string[];
  /** Former state of installations whose integration has to be notified that it is not installed any more. */
  unregistered: InstallationRow[];
  plugins: PluginRow[];
  removedPlugins: string[];
}

export interface InstalledOfBot extends InstalledRows {
  workspace_id: string;
  revision: number;
}

export interface PluginOfBot extends Pick<PluginRow, 'alias' | 'plugin_id' | 'interfaces'> {
  bot_id: string;
  workspace_id: string;
  /** Version for optimistic concurrency: text of the timestamp, with microseconds. */
  updated_at?: string;
}

@Injectable()
export class InstallationsRepository {
  constructor(private readonly database: Database) {}

  /** Primary key. */
  async findByAlias(botId: string, alias: string): Promise<InstallationEntity | null> {
    return this.database.manager.findOneBy(InstallationEntity, { bot_id: botId, alias });
  }

  async findOfBot(
    workspaceId: string,
    botId: string,
  ): Promise<(InstalledOfBot & { chat_webhook_id: string | null }) | undefined> {
    const [row] = await this.database.query<InstalledOfBot & { chat_webhook_id: string | null }>(
      `SELECT workspace_id, installation_revision AS revision, chat_webhook_id, ${installedColumns} FROM bot
       WHERE workspace_id = $1 AND id = $2`,
      [workspaceId, botId],
    );
    return row;
  }

  /** Locks the bot's row and increments its revision. Undefined when the bot is gone. */
  async incrementRevision(tx: Transaction, botId: string): Promise<number | undefined> {
    const [row] = await tx.query<{ revision: number }>(
      `UPDATE bot SET installation_revision = installation_revision + 1 WHERE id = $1
       RETURNING installation_revision AS revision`,
      [botId],
    );
    return row?.revision;
  }

  /** Reads the installations as this transaction sees them, its own writes included. */
  async getOfBot(tx: Transaction, botId: string): Promise<InstalledOfBot> {
    const [row] = await tx.query<InstalledOfBot>(
      `SELECT workspace_id, installation_revision AS revision, ${installedColumns} FROM bot WHERE id = $1`,
      [botId],
    );
    return row!;
  }

  async insertChat(tx: Transaction, botId: string): Promise<void> {
    await tx.manager.insert(InstallationEntity, {
      bot_id: botId,
      alias: chatAlias,
      integration_id: builtInChat.id,
      webhook_id: newId('webhook'),
      enabled: true,
      status: 'registered',
      summary: builtInChat,
    });
  }

  /** Upsert by alias: an existing installation keeps its webhook id. */
  async applyWrites(tx: Transaction, botId: string, writes: InstallationWrites): Promise<void> {
    await this.insertFormer(
      tx,
      botId,
      writes.unregistered.map(({ alias }) => alias),
    );
    await tx.query(
      `WITH removed AS (DELETE FROM installation WHERE bot_id = $1 AND alias = ANY($2) RETURNING *),
       kept AS (
         UPDATE bot SET chat_webhook_id = removed.webhook_id FROM removed WHERE id = $1 AND integration_id = '${builtInChat.id}')
       DELETE FROM bot_plugin WHERE bot_id = $1 AND alias = ANY($3)`,
      [botId, writes.removedIntegrations, writes.removedPlugins],
    );
    await tx.query(
      `INSERT INTO installation (bot_id, alias, integration_id, webhook_id, enabled, configuration_type, configuration,
         disabled_channels, status, status_reason, registration_revision, is_callable, summary)
       SELECT $1, alias, integration_id, webhook_id, enabled, configuration_type, configuration, disabled_channels,
         status, status_reason, registration_revision, is_callable, summary
       FROM jsonb_populate_recordset(NULL::installation, $2)
       ON CONFLICT (bot_id, alias) DO UPDATE SET
         integration_id = excluded.integration_id, enabled = excluded.enabled,
         configuration_type = excluded.configuration_type, configuration = excluded.configuration,
         disabled_channels = excluded.disabled_channels, status = excluded.status,
         status_reason = excluded.status_reason,
         registration_revision = excluded.registration_revision, is_callable = excluded.is_callable,
         summary = excluded.summary, updated_at = now(),
         identifier = CASE WHEN installation.summary ->> 'name' = excluded.summary ->> 'name' THEN installation.identifier END,
         family = CASE WHEN installation.summary ->> 'name' = excluded.summary ->> 'name' THEN installation.family END,
         register_schedule = CASE WHEN excluded.enabled THEN installation.register_schedule END,
         register_at = CASE WHEN excluded.enabled THEN installation.register_at END`,
      [botId, JSON.stringify(writes.integrations)],
    );
    await tx.query(
      `INSERT INTO bot_plugin (bot_id, alias, plugin_id, enabled, configuration, interfaces, integrations, summary,
         definition, recurring_events)
       SELECT $1, alias, plugin_id, enabled, configuration, interfaces, integrations, summary, definition,
         recurring_events
       FROM jsonb_populate_recordset(NULL::bot_plugin, $2)
       ON CONFLICT (bot_id, alias) DO UPDATE SET
         plugin_id = excluded.plugin_id, enabled = excluded.enabled, configuration = excluded.configuration,
         interfaces = excluded.interfaces, integrations = excluded.integrations, summary = excluded.summary,
         definition = excluded.definition, recurring_events = excluded.recurring_events, updated_at = now()`,
      [botId, JSON.stringify(writes.plugins)],
    );
  }

  /** Keeps what is needed to unregister these installations. */
  async insertFormer(tx: Transaction, botId: string, aliases: string[]): Promise<void> {
    if (aliases.length === 0) return;
    await tx.query(
      `INSERT INTO former_installation (id, bot_id, workspace_id, alias, integration_id, webhook_id, configuration_type,
         configuration, revision)
       SELECT former.id, $1, workspace_id, installation.alias, integration_id, webhook_id, configuration_type, configuration,
         registration_revision
       FROM jsonb_to_recordset($2) AS former (id text, alias text)
       JOIN installation ON bot_id = $1 AND installation.alias = former.alias JOIN bot ON bot.id = $1`,
      [botId, JSON.stringify(aliases.map((alias) => ({ id: newId('former'), alias })))],
    );
  }

  /** Aliases of the installations that their integrations know of. Primary key. */
  async listNotifiedAliases(tx: Transaction, botId: string): Promise<string[]> {
    const rows = await tx.query<{ alias: string }>(
      'SELECT alias FROM installation WHERE bot_id = $1 AND enabled AND is_callable ORDER BY alias',
      [botId],
    );
    return rows.map(({ alias }) => alias);
  }

  /**
   * Updates up to `limit` installations with an outdated summary, and returns them. They are registered again if that failed:
   * the version has changed, and may have other code. Index installation_integration.
   */
  async updateOutdatedIntegrations(
    sql: Sql,
    { summary, is_callable }: Pick<InstallationRow, 'summary' | 'is_callable'>,
    limit: number,
  ): Promise<{ bot_id: string; is_pending: boolean }[]> {
    const isConcerned = `enabled AND (is_callable <> $3 OR $3 AND status = 'registration_failed')`;
    return sql.query(
      `UPDATE installation SET summary = $2, is_callable = $3, updated_at = now(),
         status = CASE WHEN ${isConcerned}
           THEN CASE WHEN $3 THEN 'registration_pending' ELSE 'registered' END ELSE status END,
         status_reason = CASE WHEN ${isConcerned} THEN NULL ELSE status_reason END,
         registration_revision = registration_revision + (${isConcerned})::int
       WHERE (bot_id, alias) IN (
         SELECT bot_id, alias FROM installation
         WHERE integration_id = $1 AND summary ->> 'updatedAt' <= $2::jsonb ->> 'updatedAt'
           AND (summary <> $2 OR is_callable <> $3)
         ORDER BY bot_id, alias LIMIT $4)
       RETURNING bot_id, status = 'registration_pending' AS is_pending`,
      [summary.id, JSON.stringify(summary), is_callable, limit],
    );
  }

  /** Integrations of the bot except the chat, each with the `updatedAt` of its oldest stored summary. */
  async listOldestSummaries(botId: string): Promise<{ id: string; updatedAt: string }[]> {
    return this.database.query(
      `SELECT integration_id AS id, min(summary ->> 'updatedAt') AS "updatedAt" FROM installation
       WHERE bot_id = $1 AND integration_id <> $2 GROUP BY integration_id`,
      [botId, builtInChat.id],
    );
  }

  /** Index installation_integration. */
  async updateStatusOfDeleted(integrationIds: string[]): Promise<void> {
    await this.database.query(
      `UPDATE installation SET status = 'registration_failed', status_reason = $2, updated_at = now()
       WHERE integration_id = ANY($1::text[]) AND status_reason IS DISTINCT FROM $2`,
      [integrationIds, 'This version of the integration was deleted. Uninstall it, or install another version.'],
    );
  }

  async listPluginsOfBot(botId: string): Promise<PluginOfBot[]> {
    return this.database.query<PluginOfBot>(
      `SELECT bot_id, workspace_id, alias, plugin_id, interfaces, bot_plugin.updated_at::text AS updated_at
       FROM bot_plugin JOIN bot ON bot.id = bot_id WHERE bot_id = $1 ORDER BY alias`,
      [botId],
    );
  }

  /**
   * Page of plugin installations after `last` that contain data of this plugin, or of this integration through a bound
   * interface. Index bot_plugin_plugin, or installation_integration and bot_plugin_pkey.
   */
  async listPluginsContaining(
    kind: 'integration' | 'plugin',
    id: string,
    last: { bot_id: string; alias: string },
    limit: number,
  ): Promise<PluginOfBot[]> {
    const shows = {
      plugin: 'bot_plugin.plugin_id = $1',
      integration: `EXISTS (SELECT 1 FROM installation WHERE bot_id = bot_plugin.bot_id AND integration_id = $1)
         AND jsonb_path_exists(interfaces, '$.*.integrationId ? (@ == $id)', jsonb_build_object('id', $1::text))`,
    };
    return this.database.query<PluginOfBot>(
      `SELECT bot_id, workspace_id, alias, plugin_id, interfaces FROM bot_plugin JOIN bot ON bot.id = bot_id
       WHERE ${shows[kind]} AND (bot_id, alias) > ($2, $3) ORDER BY bot_id, alias LIMIT $4`,
      [id, last.bot_id, last.alias, limit],
    );
  }

  /**
   * Optimistic concurrency: skips a plugin that was changed meanwhile, has newer or equal data, or was written since
   * `updated_at`.
   */
  async updateOutdatedPlugins(rows: (PluginOfBot & Pick<PluginRow, 'summary' | 'definition'>)[]): Promise<void> {
    await this.database.query(
      `UPDATE bot_plugin SET summary = fresh.summary, definition = fresh.definition, updated_at = now()
       FROM jsonb_populate_recordset(NULL::bot_plugin, $1) AS fresh
       WHERE bot_plugin.bot_id = fresh.bot_id AND bot_plugin.alias = fresh.alias
         AND bot_plugin.plugin_id = fresh.plugin_id AND bot_plugin.interfaces = fresh.interfaces
         AND bot_plugin.summary ->> 'updatedAt' <= fresh.summary ->> 'updatedAt'
         AND (bot_plugin.summary <> fresh.summary OR bot_plugin.definition <> fresh.definition)
         AND bot_plugin.updated_at = coalesce(fresh.updated_at, bot_plugin.updated_at)`,
      [JSON.stringify(rows)],
    );
  }

  /** Number of bots with this version of an integration or plugin. Index installation_integration, bot_plugin_plugin. */
  async countBotsByEntry(id: string): Promise<number> {
    const [row] = await this.database.query<{ count: string }>(
      `SELECT count(*) FROM (
         SELECT bot_id FROM installation WHERE integration_id = $1
         UNION SELECT bot_id FROM bot_plugin WHERE plugin_id = $1
       ) AS installed`,
      [id],
    );
    return Number(row?.count);
  }
}
