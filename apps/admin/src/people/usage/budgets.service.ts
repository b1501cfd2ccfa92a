import { Injectable } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import {
  type Budget,
  budgetChanged,
  type BudgetBotId,
  type ChangeAiSpendQuota,
  type SetBotBudget,
} from '@parley/contracts/admin/budgets';
import type { Operation } from '@parley/contracts/operation';
import { Outbox } from '@parley/events/outbox';
import { Database, type Transaction } from '@parley/persistence/database';
import { AuditRepository } from '../access/audit.repository';
import { viewerOf } from '../access/viewer';
import { BudgetsRepository } from './budgets.repository';

/** Budgets for language models. The service models keeps a copy, which it gets by event. */
@Injectable()
export class BudgetsService {
  constructor(
    private readonly database: Database,
    private readonly budgets: BudgetsRepository,
    private readonly audit: AuditRepository,
    private readonly outbox: Outbox,
  ) {}

  async getOfWorkspace({ workspace }: WorkspaceCaller): Promise<Budget> {
    return (await this.budgets.getOfWorkspace(workspace.id)).budget;
  }

  async getOfBot(caller: WorkspaceCaller, { botId }: BudgetBotId): Promise<Budget> {
    return (await this.budgets.getOfBot(viewerOf(caller), botId)).budget;
  }

  setOfWorkspace(caller: WorkspaceCaller, { dollars, tokens }: Budget): Promise<object> {
    return this.changeOfWorkspace(caller, admin.budgets.setOfWorkspace, () => ({ dollars, tokens }));
  }

  changeAiSpendQuota(caller: WorkspaceCaller, { monthlySpendingLimit }: ChangeAiSpendQuota): Promise<object> {
    const dollars = monthlySpendingLimit;
    return this.changeOfWorkspace(caller, admin.quotas.changeAiSpend, ({ tokens }) => ({ dollars, tokens }));
  }

  async setOfBot(caller: WorkspaceCaller, { botId, dollars, tokens }: SetBotBudget): Promise<object> {
    const budget = { dollars, tokens };
    await this.database.transaction(async (tx) => {
      const { name } = await this.budgets.lockOfBot(tx, viewerOf(caller), botId);
      await this.store(tx, 'bot', botId, budget);
      await this.audit.insertChange(tx, caller, {
        workspaceId: caller.workspace.id,
        action: 'UPDATE_BOT',
        operation: admin.budgets.setOfBot,
        resourceId: botId,
        resourceName: name,
        value: JSON.stringify(budget),
      });
    });
    return {};
  }

  private async changeOfWorkspace(
    caller: WorkspaceCaller,
    operation: Operation,
    change: (current: Budget) => Budget,
  ): Promise<object> {
    const { id } = caller.workspace;
    await this.database.transaction(async (tx) => {
      const { name, budget: current } = await this.budgets.lockOfWorkspace(tx, id);
      const budget = change(current);
      await this.store(tx, 'workspace', id, budget);
      await this.audit.insertChange(tx, caller, {
        workspaceId: id,
        action: 'UPDATE_WORKSPACE',
        operation,
        resourceId: id,
        resourceName: name,
        value: JSON.stringify(budget),
      });
    });
    return {};
  }

  private async store(tx: Transaction, scope: 'bot' | 'workspace', scopeId: string, budget: Budget): Promise<void> {
    const version = await this.budgets.update(tx, scope, scopeId, budget);
    await this.outbox.add(tx, budgetChanged, { scope, scopeId, ...budget, version });
  }
}
