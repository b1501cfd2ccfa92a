import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import { botDeleted, type BotId } from '@parley/contracts/admin/bots';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import { notFound } from '@parley/contracts/errors';
import { Outbox } from '@parley/events/outbox';
import { Database } from '@parley/persistence/database';
import { AuditRepository } from '../../people/access/audit.repository';
import { InstallationsService } from '../installations/installations.service';
import { QuotasService } from '../../people/usage/quotas.service';
import { BotsRepository } from './bots.repository';

@Injectable()
export class BotDeletionService {
  constructor(
    private readonly database: Database,
    private readonly bots: BotsRepository,
    private readonly installations: InstallationsService,
    private readonly quotas: QuotasService,
    private readonly audit: AuditRepository,
    private readonly outbox: Outbox,
    private readonly client: ParleyClient,
  ) {}

  async delete(caller: WorkspaceCaller, { id }: BotId) {
    const { workspace } = caller;
    await this.database.transaction(async (tx) => {
      await this.quotas.lock(tx, workspace.id);
      await this.installations.unregisterAll(tx, id);
      const deleted = await this.bots.deleteOfWorkspace(tx, workspace.id, id);
      if (!deleted) throw notFound('bot', id);
      await this.audit.insertChange(tx, caller, {
        workspaceId: workspace.id,
        action: 'DELETE_BOT',
        operation: admin.bots.delete,
        resourceId: id,
        resourceName: deleted.name,
      });
      await this.quotas.recount(tx, workspace.id, 'bot_count');
      await this.outbox.add(tx, botDeleted, { botId: id, workspaceId: workspace.id });
      await this.installations.announceNone(tx, { id, workspaceId: workspace.id, revision: deleted.revision });
    });
    this.client.broadcast(credentialsChanged, { reason: `bot ${id} was deleted` });
    return {};
  }
}
