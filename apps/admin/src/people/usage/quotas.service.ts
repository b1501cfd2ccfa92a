import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '@parley/contracts/access';
import {
  type Quotas,
  type QuotaReply,
  type QuotasQuery,
  type UsageQuery,
  type UsageType,
  usageTypes,
} from '@parley/contracts/admin/usage';
import { ApiError } from '@parley/contracts/errors';
import { Database, type Transaction } from '@parley/persistence/database';
import { AdminConfig } from '../../config';
import { RolesRepository } from '../access/roles.repository';
import { WorkspacesRepository } from '../workspaces/workspaces.repository';
import { BudgetsRepository } from './budgets.repository';
import { type OwnUsageType, quotaOf } from './quota-amounts';
import { monthOf } from './usage.entity';
import { UsageRepository } from './usage.repository';

const names: Record<OwnUsageType, string> = { bot_count: 'bots', workspace_member_count: 'members' };

@Injectable()
export class QuotasService {
  constructor(
    private readonly config: AdminConfig,
    private readonly database: Database,
    private readonly usage: UsageRepository,
    private readonly roles: RolesRepository,
    private readonly workspaces: WorkspacesRepository,
    private readonly budgets: BudgetsRepository,
  ) {}

  async get(caller: AccountCaller, { id, type, period = thisMonth() }: UsageQuery): Promise<QuotaReply> {
    await this.roles.requireRole(this.database, caller, id, 'belong');
    return { quota: { period, value: await this.valueOf(id, type), type } };
  }

  async list(caller: AccountCaller, { id, period = thisMonth() }: QuotasQuery): Promise<Quotas> {
    await this.roles.requireRole(this.database, caller, id, 'belong');
    return {
      quotas: await Promise.all(
        usageTypes.map(async (type) => ({ period, value: await this.valueOf(id, type), type })),
      ),
    };
  }

  private async valueOf(id: string, type: UsageType): Promise<number> {
    const budget = type === 'ai_spend' ? (await this.budgets.getOfWorkspace(id)).budget : undefined;
    return budget?.dollars ?? quotaOf(this.config, type);
  }

  /**
   * Locks the workspace and counts one more, which the transaction adds. Throws QuotaExceeded when the quota is
   * reached.
   */
  async admit(tx: Transaction, workspaceId: string, type: OwnUsageType): Promise<void> {
    await this.workspaces.lockById(tx, workspaceId);
    const count = await this.usage.countOwn(tx, workspaceId, type);
    const quota = quotaOf(this.config, type);
    if (count >= quota) {
      throw new ApiError(
        'QuotaExceeded',
        `Quota exceeded: the workspace may have ${quota} ${names[type]} (${type}) and has ${count}.`,
      );
    }
    await this.usage.upsertOwn(tx, workspaceId, type, count + 1);
  }

  /** Locks workspaces, in the order of their ids. Lock order: before the rows of their bots and members. */
  async lock(tx: Transaction, ...workspaceIds: string[]): Promise<void> {
    for (const id of workspaceIds.sort()) await this.workspaces.lockById(tx, id);
  }

  /**
   * Moves the usage of a bot between two locked workspaces. Throws QuotaExceeded when the target has its maximum of
   * bots.
   */
  async transferBot(tx: Transaction, botId: string, from: string, to: string): Promise<void> {
    await this.admit(tx, to, 'bot_count');
    await this.usage.upsertOwn(tx, from, 'bot_count', (await this.usage.countOwn(tx, from, 'bot_count')) - 1);
    await this.usage.moveUsageOfBot(tx, botId, from, to);
  }

  /**
   * Replaces the storage reserved for the recurring events of a bot in a locked workspace. Throws QuotaExceeded when
   * the reservation grows above the quota.
   */
  async reserveForRecurringEvents(
    tx: Transaction,
    { botId, workspaceId, bytes }: { botId: string; workspaceId: string; bytes: number },
  ): Promise<void> {
    const before = await this.usage.reserveRecurringBytes(tx, workspaceId, botId, bytes);
    if (bytes <= before) return;
    const workspace = { id: workspaceId, workspace_id: workspaceId, bot_id: '' };
    const [used] = await this.usage.listAmounts([workspace], ['storage_count'], thisMonth(), tx);
    const quota = quotaOf(this.config, 'storage_count');
    if (used!.value <= quota) return;
    throw new ApiError(
      'QuotaExceeded',
      `Quota exceeded: the workspace may store ${quota} bytes (storage_count). It uses ${used!.value - bytes}, and the recurring events of this bot would take ${bytes} within ${this.config.eventRetentionDays} days.`,
    );
  }

  async recount(tx: Transaction, workspaceId: string, type: OwnUsageType): Promise<void> {
    await this.usage.upsertOwn(tx, workspaceId, type, await this.usage.countOwn(tx, workspaceId, type));
  }
}

export function thisMonth(): string {
  return monthOf(new Date().toISOString());
}
