import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { requirePermission, type WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import { botTransferred, type TransferBot } from '@parley/contracts/admin/bots';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Outbox } from '@parley/events/outbox';
import { Database } from '@parley/persistence/database';
import { AuditRepository } from '../../people/access/audit.repository';
import { BotVisibilityService } from '../../people/access/bot-visibility.service';
import { viewerOf } from '../../people/access/viewer';
import { RolesRepository } from '../../people/access/roles.repository';
import { QuotasService } from '../../people/usage/quotas.service';
import { BotsRepository } from './bots.repository';

@Injectable()
export class BotTransferService {
  constructor(
    private readonly database: Database,
    private readonly bots: BotsRepository,
    private readonly botVisibility: BotVisibilityService,
    private readonly roles: RolesRepository,
    private readonly quotas: QuotasService,
    private readonly audit: AuditRepository,
    private readonly outbox: Outbox,
    private readonly client: ParleyClient,
  ) {}

  /** Resets the allowlist to all users of the target workspace, and drops cached identities on every gateway. */
  async transfer(caller: WorkspaceCaller, { id, targetWorkspaceId }: TransferBot) {
    const sourceId = caller.workspace.id;
    if (targetWorkspaceId === sourceId) {
      throw new ApiError(
        'InvalidPayload',
        'targetWorkspaceId: the bot is in this workspace already. Name another workspace.',
      );
    }
    await this.botVisibility.requireVisible(caller, id);
    await this.database.transaction(async (tx) => {
      const role = await this.roles.findRole(tx, caller.account?.id, targetWorkspaceId);
      if (!role) {
        throw new ApiError(
          'ReferenceNotFound',
          `targetWorkspaceId: you are not a member of workspace "${targetWorkspaceId}".`,
        );
      }
      requirePermission(role, 'write');
      await this.quotas.lock(tx, sourceId, targetWorkspaceId);
      await this.roles.requireRole(tx, caller, sourceId, 'administer');
      const bot = await this.bots.lockVisible(tx, viewerOf(caller), id);
      if (!bot) throw notFound('bot', id);
      await this.quotas.transferBot(tx, id, sourceId, targetWorkspaceId);
      await this.bots.moveToWorkspace(tx, id, targetWorkspaceId);
      await this.outbox.add(tx, botTransferred, { botId: id, workspaceId: targetWorkspaceId });
      for (const workspaceId of [sourceId, targetWorkspaceId]) {
        await this.audit.insertChange(tx, caller, {
          workspaceId,
          action: 'TRANSFER_BOT',
          operation: admin.bots.transfer,
          resourceId: id,
          resourceName: bot.name,
          value: `from ${sourceId} to ${targetWorkspaceId}`,
        });
      }
    });
    this.client.broadcast(credentialsChanged, { reason: `bot ${id} was transferred` });
    return {};
  }
}
