import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type {
  GetBotWebchat,
  PublicWebchat,
  UpdateWebchatSettings,
  UploadQuota,
  WebchatAddress,
  WebchatBotId,
  WebchatOrigins,
  WebchatSettings,
  WebchatSnippet,
  WebchatWebhookId,
  WebchatWorkspace,
} from '@parley/contracts/admin/webchats';
import { ApiError, notFound } from '@parley/contracts/errors';
import { chatBaseOf } from '@parley/service/config';
import { Database } from '@parley/persistence/database';
import { AuditRepository } from '../../people/access/audit.repository';
import { BotVisibilityService } from '../../people/access/bot-visibility.service';
import { viewerOf } from '../../people/access/viewer';
import { AdminConfig } from '../../config';
import { quotaOf } from '../../people/usage/quota-amounts';
import { snippetOf } from './webchat-snippets';
import { type WebchatRow, WebchatsRepository } from './webchats.repository';

@Injectable()
export class WebchatsService {
  constructor(
    private readonly database: Database,
    private readonly webchats: WebchatsRepository,
    private readonly botVisibility: BotVisibilityService,
    private readonly audit: AuditRepository,
    private readonly config: AdminConfig,
  ) {}

  async getSnippet(caller: WorkspaceCaller, { id, type }: GetBotWebchat): Promise<WebchatSnippet> {
    await this.botVisibility.requireVisible(caller, id);
    const row = await this.webchats.findByBot(id);
    if (!row) {
      throw new ApiError('ResourceNotFound', 'This bot has no web chat: install the integration "chat" in it.');
    }
    const { name: botName, webhookId } = row;
    return {
      code: snippetOf(type, { publicUrl: this.config.publicUrl, webhookId, botName, settings: row.settings ?? {} }),
    };
  }

  async getSettings(caller: WorkspaceCaller, { botId }: WebchatBotId): Promise<WebchatSettings> {
    await this.botVisibility.requireVisible(caller, botId);
    return this.webchats.findSettings(botId);
  }

  async updateSettings(caller: WorkspaceCaller, { botId, ...settings }: UpdateWebchatSettings) {
    await this.database.transaction(async (tx) => {
      const name = await this.webchats.upsertSettings(tx, viewerOf(caller), botId, settings);
      if (name === undefined) throw notFound('bot', botId);
      await this.audit.insertChange(tx, caller, {
        workspaceId: caller.workspace.id,
        action: 'UPDATE_BOT',
        operation: admin.webchats.updateSettings,
        resourceId: botId,
        resourceName: name,
        value: JSON.stringify(settings),
      });
    });
    return {};
  }

  async show({ webhookId }: WebchatWebhookId): Promise<PublicWebchat> {
    const { name, settings } = await this.requireWebchat(webhookId);
    const { allowedOrigins: _allowedOrigins, ...appearance } = settings ?? {};
    return { title: name, ...appearance, chatUrl: `${chatBaseOf(this.config)}/${webhookId}` };
  }

  async findNewest({ workspaceId }: WebchatWorkspace): Promise<WebchatAddress> {
    const webhookId = await this.webchats.findNewest(workspaceId);
    return { url: webhookId === undefined ? null : this.pageOf(webhookId) };
  }

  async getOrigins({ webhookId }: WebchatWebhookId): Promise<WebchatOrigins> {
    const { settings } = await this.requireWebchat(webhookId);
    const allowed = settings?.allowedOrigins ?? [];
    const own = new URL(this.config.publicUrl).origin;
    return { pages: allowed.length > 0 ? [...allowed, own] : [], chat: new URL(chatBaseOf(this.config)).origin };
  }

  async requireUploads({ webhookId }: WebchatWebhookId): Promise<UploadQuota> {
    const { settings } = await this.requireWebchat(webhookId);
    if (!settings?.allowsUploads) {
      throw new ApiError(
        'Forbidden',
        'This bot accepts no files. A developer of the bot can allow them by allowsUploads in the settings of its web chat.',
      );
    }
    return { storageQuota: quotaOf(this.config, 'storage_count') };
  }

  private pageOf(webhookId: string): string {
    return `${this.config.publicUrl}/webchat/${webhookId}`;
  }

  private async requireWebchat(webhookId: string): Promise<WebchatRow> {
    const row = await this.webchats.findByWebhookId(webhookId);
    if (!row) throw notFound('web chat', webhookId);
    return row;
  }
}
