import { Injectable } from '@nestjs/common';
import type { ActionDefinition } from '@parley/contracts/definition';
import { Database } from '@parley/persistence/database';
import type { BotEntity } from '../bots/bot.entity';
import type { BotDefinition } from '../installations/bot-definition';
import type { InstallationRow } from '../installations/installation.entity';

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

export interface InstallationTargetRow extends Pick<
  InstallationRow,
  | 'alias'
  | 'integration_id'
  | 'webhook_id'
  | 'enabled'
  | 'configuration_type'
  | 'configuration'
  | 'disabled_channels'
  | 'status'
  | 'status_reason'
  | 'registration_revision'
> {
  bot_id: string;
  workspace_id: string;
  is_blocked: boolean;
  is_dev: boolean;
}

export interface InstalledRow extends Pick<InstallationRow, 'integration_id' | 'enabled' | 'status' | 'status_reason'> {
  name: string;
}

const installationColumns = `bot_id, workspace_id, blocked AS is_blocked, dev AS is_dev, alias, integration_id, webhook_id, enabled,
  configuration_type, configuration, disabled_channels, status, status_reason, registration_revision`;

/** Bots, installations and actions, with the properties that a call of them needs. */
@Injectable()
export class TargetsRepository {
  constructor(private readonly database: Database) {}

  /** One round trip. Index bot_pkey, bot_version_pkey, bot_former_signing_secret_pkey. */
  async findBot(botId: string): Promise<BotTargetRow | undefined> {
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

  /** Primary keys. */
  async findInstallation(botId: string, alias: string): Promise<InstallationTargetRow | undefined> {
    const [row] = await this.database.query<InstallationTargetRow>(
      `SELECT ${installationColumns} FROM installation JOIN bot ON bot.id = bot_id WHERE bot_id = $1 AND alias = $2`,
      [botId, alias],
      'installation_target',
    );
    return row;
  }

  /** Index installation_webhook_id_key. */
  async findInstallationByWebhookId(webhookId: string): Promise<InstallationTargetRow | undefined> {
    const [row] = await this.database.query<InstallationTargetRow>(
      `SELECT ${installationColumns} FROM installation JOIN bot ON bot.id = bot_id WHERE webhook_id = $1`,
      [webhookId],
      'installation_target_of_webhook',
    );
    return row;
  }

  /** Index installation_identifier. */
  async findInstallationByIdentifier(family: string, identifier: string): Promise<InstallationTargetRow | undefined> {
    const [row] = await this.database.query<InstallationTargetRow>(
      `SELECT ${installationColumns} FROM installation JOIN bot ON bot.id = bot_id WHERE family = $1 AND identifier = $2`,
      [family, identifier],
    );
    return row;
  }

  /** Former installation. Its bot may be deleted. Primary keys. */
  async findFormerInstallation(botId: string, id: string): Promise<InstallationTargetRow | undefined> {
    const [row] = await this.database.query<InstallationTargetRow>(
      `SELECT bot_id, former.workspace_id, coalesce(blocked, false) AS is_blocked, coalesce(dev, false) AS is_dev, alias,
         integration_id, webhook_id, false AS enabled, configuration_type, configuration, '[]'::jsonb AS disabled_channels,
         'unregistration_pending' AS status, NULL AS status_reason, revision AS registration_revision
       FROM former_installation former LEFT JOIN bot ON bot.id = bot_id WHERE bot_id = $1 AND former.id = $2`,
      [botId, id],
    );
    return row;
  }

  /** Primary key. */
  findActionOfBot(botId: string, name: string): Promise<ActionDefinition | undefined> {
    return this.findAction(`SELECT definition -> 'actions' -> $2::text AS action FROM bot WHERE id = $1`, [
      botId,
      name,
    ]);
  }

  /** Primary key. Enabled plugins only. */
  findActionOfPlugin(botId: string, alias: string, name: string): Promise<ActionDefinition | undefined> {
    return this.findAction(
      `SELECT definition -> 'actions' -> $3::text AS action FROM bot_plugin
       WHERE bot_id = $1 AND alias = $2 AND enabled`,
      [botId, alias, name],
    );
  }

  /** Primary key. */
  async findInstalled(botId: string, alias: string): Promise<InstalledRow | undefined> {
    const [row] = await this.database.query<InstalledRow>(
      `SELECT integration_id, enabled, status, status_reason, summary ->> 'name' AS name FROM installation WHERE bot_id = $1 AND alias = $2`,
      [botId, alias],
    );
    return row;
  }

  private async findAction(statement: string, values: string[]): Promise<ActionDefinition | undefined> {
    const [row] = await this.database.query<{ action: ActionDefinition | null }>(statement, values);
    return row?.action ?? undefined;
  }
}
