import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import type { InstallationRow } from '../installations/installation.entity';

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

const columns = `bot_id, workspace_id, blocked AS is_blocked, dev AS is_dev, alias, integration_id, webhook_id, enabled,
  configuration_type, configuration, disabled_channels, status, status_reason, registration_revision`;

@Injectable()
export class InstallationTargetsRepository {
  constructor(private readonly database: Database) {}

  /** Primary keys. */
  async findByAlias(botId: string, alias: string): Promise<InstallationTargetRow | undefined> {
    const [row] = await this.database.query<InstallationTargetRow>(
      `SELECT ${columns} FROM installation JOIN bot ON bot.id = bot_id WHERE bot_id = $1 AND alias = $2`,
      [botId, alias],
      'installation_target',
    );
    return row;
  }

  /** Index installation_webhook_id_key. */
  async findByWebhookId(webhookId: string): Promise<InstallationTargetRow | undefined> {
    const [row] = await this.database.query<InstallationTargetRow>(
      `SELECT ${columns} FROM installation JOIN bot ON bot.id = bot_id WHERE webhook_id = $1`,
      [webhookId],
      'installation_target_of_webhook',
    );
    return row;
  }

  /** Index installation_identifier. */
  async findByIdentifier(family: string, identifier: string): Promise<InstallationTargetRow | undefined> {
    const [row] = await this.database.query<InstallationTargetRow>(
      `SELECT ${columns} FROM installation JOIN bot ON bot.id = bot_id WHERE family = $1 AND identifier = $2`,
      [family, identifier],
    );
    return row;
  }

  /** Former installation. Its bot may be deleted. Primary keys. */
  async findFormer(botId: string, id: string): Promise<InstallationTargetRow | undefined> {
    const [row] = await this.database.query<InstallationTargetRow>(
      `SELECT bot_id, former.workspace_id, coalesce(blocked, false) AS is_blocked, coalesce(dev, false) AS is_dev, alias,
         integration_id, webhook_id, false AS enabled, configuration_type, configuration, '[]'::jsonb AS disabled_channels,
         'unregistration_pending' AS status, NULL AS status_reason, revision AS registration_revision
       FROM former_installation former LEFT JOIN bot ON bot.id = bot_id WHERE bot_id = $1 AND former.id = $2`,
      [botId, id],
    );
    return row;
  }
}
