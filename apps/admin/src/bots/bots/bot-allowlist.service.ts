import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { AllowlistedBotId, BotAllowlist, UpdateBotAllowlist } from '@parley/contracts/admin/bot-allowlist';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { AuditRepository } from '../../people/access/audit.repository';
import { BotAllowlistRepository } from './bot-allowlist.repository';
import { BotsRepository } from './bots.repository';
import { viewerOf } from '../../people/access/viewer';

@Injectable()
export class BotAllowlistService {
  constructor(
    private readonly database: Database,
    private readonly bots: BotsRepository,
    private readonly allowlists: BotAllowlistRepository,
    private readonly audit: AuditRepository,
    private readonly client: ParleyClient,
  ) {}

  async get(caller: WorkspaceCaller, { botId }: AllowlistedBotId): Promise<BotAllowlist> {
    const row = await this.allowlists.findByBot(viewerOf(caller), botId);
    if (!row) throw notFound('bot', botId);
    return { setting: row.setting, users: row.account_ids.map((id) => ({ id })) };
  }

  async update(caller: WorkspaceCaller, { botId, setting, users = {} }: UpdateBotAllowlist) {
    const workspaceId = caller.workspace.id;
    const allowed = Object.keys(users).filter((id) => users[id]);
    const disallowed = Object.keys(users).filter((id) => !users[id]);
    await this.database.transaction(async (tx) => {
      const bot = await this.bots.lockVisible(tx, viewerOf(caller), botId);
      if (!bot) throw notFound('bot', botId);
      if (setting) await this.allowlists.updateSetting(tx, botId, setting);
      const members = await this.allowlists.allowMembers(tx, botId, workspaceId, allowed);
      const nonMember = allowed.find((id) => !members.includes(id));
      if (nonMember !== undefined) {
        throw new ApiError('ReferenceNotFound', `users: "${nonMember}" is not a member of this workspace.`);
      }
      await this.allowlists.disallowMembers(tx, botId, disallowed);
      await this.audit.insertChange(tx, caller, {
        workspaceId,
        action: 'UPDATE_BOT',
        operation: admin.botAllowlist.update,
        resourceId: botId,
        resourceName: bot.name,
        value: JSON.stringify({ setting, users }),
      });
    });
    this.client.broadcast(credentialsChanged, { reason: `the allowlist of bot ${botId} changed` });
    return {};
  }
}
