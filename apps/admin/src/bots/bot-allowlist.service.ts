import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { AllowlistedBotId, BotAllowlist, UpdateBotAllowlist } from '@parley/contracts/admin/bot-allowlist';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { AuditRepository } from '../audit/audit.repository';
import { BotAllowlistRepository } from './bot-allowlist.repository';
import { BotsRepository } from './bots.repository';
import { viewerOf } from './viewer';

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
    const row = await this.allowlists.find(viewerOf(caller), botId);
    if (!row) throw notFound('bot', botId);
    return { setting: row.setting, users: row.account_ids.map((id) => ({ id })) };
  }

  async update(caller: WorkspaceCaller, { botId, setting, users = {} }: UpdateBotAllowlist) {
    const workspaceId = caller.workspace.id;
    const wanted = Object.keys(users).filter((id) => users[id]);
    const unwanted = Object.keys(users).filter((id) => !users[id]);
    await this.database.transaction(async (tx) => {
      const bot = await this.bots.lock(tx, viewerOf(caller), botId);
      if (!bot) throw notFound('bot', botId);
      if (setting) await this.allowlists.set(tx, botId, setting);
      const members = await this.allowlists.add(tx, botId, workspaceId, wanted);
      const stranger = wanted.find((id) => !members.includes(id));
      if (stranger !== undefined) {
        throw new ApiError('ReferenceNotFound', `users: "${stranger}" is not a member of this workspace.`);
      }
      await this.allowlists.remove(tx, botId, unwanted);
      await this.audit.add(tx, caller, {
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
