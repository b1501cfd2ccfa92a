import { Injectable } from '@nestjs/common';
import type {
  FindInstallationTarget,
  GetInstallationTarget,
  IdentifiedInstallation,
  InstallationTarget,
} from '@parley/contracts/admin/targets';
import { notFound } from '@parley/contracts/errors';
import { chatIntegration } from '@parley/contracts/hub/built-in';
import { SecretBox } from '@parley/secrets/secret-box';
import { chatBaseOf, webhookBaseOf } from '@parley/service/config';
import { AdminConfig } from '../../config';
import { openConfiguration } from '../installations/installation.entity';
import { CallQuotaService } from '../../people/usage/call-quota.service';
import { type InstallationTargetRow, TargetsRepository } from './targets.repository';

@Injectable()
export class InstallationTargetsService {
  constructor(
    private readonly targets: TargetsRepository,
    private readonly box: SecretBox,
    private readonly calls: CallQuotaService,
    private readonly config: AdminConfig,
  ) {}

  async get({ botId, alias, removedId }: GetInstallationTarget): Promise<InstallationTarget> {
    const row =
      alias === undefined
        ? await this.targets.findFormerInstallation(botId, removedId ?? '')
        : await this.targets.findInstallation(botId, alias);
    if (!row) throw notFound('installation', alias ?? removedId ?? '');
    return this.toTarget(row);
  }

  async find({ webhookId }: FindInstallationTarget): Promise<InstallationTarget> {
    const row = await this.targets.findInstallationByWebhookId(webhookId);
    if (!row) throw notFound('webhook', webhookId);
    return this.toTarget(row);
  }

  async identify({ family, identifier }: IdentifiedInstallation): Promise<InstallationTarget> {
    const row = await this.targets.findInstallationByIdentifier(family, identifier);
    if (!row) throw notFound('installation', identifier);
    return this.toTarget(row);
  }

  private async toTarget(row: InstallationTargetRow): Promise<InstallationTarget> {
    const isChat = row.integration_id === chatIntegration.id;
    const base = isChat ? chatBaseOf(this.config) : webhookBaseOf(this.config);
    return {
      botId: row.bot_id,
      workspaceId: row.workspace_id,
      alias: row.alias,
      integrationId: row.integration_id,
      webhookId: row.webhook_id,
      webhookUrl: `${base}/${row.webhook_id}`,
      isChat,
      isEnabled: row.enabled,
      isBotBlocked: row.is_blocked,
      isDevBot: row.is_dev,
      revision: row.registration_revision,
      status: row.status,
      statusReason: row.status_reason,
      configurationType: row.configuration_type,
      configuration: openConfiguration(this.box, row.configuration),
      disabledChannels: row.disabled_channels,
      callsPerMonth: this.calls.callsPerMonth,
      isOverQuota: await this.calls.isUsedUp(row.workspace_id),
    };
  }
}
