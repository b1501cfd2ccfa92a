import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { AccountCaller, WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { ChargeUnpaidInvoices } from '@parley/contracts/admin/billing';
import type { Budget, BudgetBotId, ChangeAiSpendQuota, SetBotBudget } from '@parley/contracts/admin/budgets';
import type {
  DailyUsageQuery,
  MultipleUsagesQuery,
  QuotasQuery,
  UsageActivityQuery,
  UsageHistoryQuery,
  UsageQuery,
} from '@parley/contracts/admin/usage';
import type { WorkspaceId } from '@parley/contracts/admin/workspaces';
import { BillingService } from './billing.service';
import { BudgetsService } from './budgets.service';
import { QuotasService } from './quotas.service';
import { UsageService } from './usage.service';

@Controller()
export class UsageController {
  constructor(
    private readonly usage: UsageService,
    private readonly quotas: QuotasService,
    private readonly billing: BillingService,
    private readonly budgets: BudgetsService,
  ) {}

  @Handles(admin.quotas.get)
  getQuota(caller: AccountCaller, input: UsageQuery) {
    return this.quotas.get(caller, input);
  }

  @Handles(admin.quotas.list)
  listQuotas(caller: AccountCaller, input: QuotasQuery) {
    return this.quotas.list(caller, input);
  }

  @Handles(admin.quotas.listCompletion)
  listCompletion(caller: AccountCaller) {
    return this.usage.listCompletion(caller);
  }

  @Handles(admin.quotas.changeAiSpend)
  changeAiSpendQuota(caller: WorkspaceCaller, input: ChangeAiSpendQuota) {
    return this.budgets.changeAiSpendQuota(caller, input);
  }

  @Handles(admin.budgets.getOfWorkspace)
  getBudgetOfWorkspace(caller: WorkspaceCaller) {
    return this.budgets.getOfWorkspace(caller);
  }

  @Handles(admin.budgets.setOfWorkspace)
  setBudgetOfWorkspace(caller: WorkspaceCaller, input: Budget) {
    return this.budgets.setOfWorkspace(caller, input);
  }

  @Handles(admin.budgets.getOfBot)
  getBudgetOfBot(caller: WorkspaceCaller, input: BudgetBotId) {
    return this.budgets.getOfBot(caller, input);
  }

  @Handles(admin.budgets.setOfBot)
  setBudgetOfBot(caller: WorkspaceCaller, input: SetBotBudget) {
    return this.budgets.setOfBot(caller, input);
  }

  @Handles(admin.usage.get)
  get(caller: AccountCaller, input: UsageQuery) {
    return this.usage.get(caller, input);
  }

  @Handles(admin.usage.getMultiple)
  getMultiple(caller: AccountCaller, input: MultipleUsagesQuery) {
    return this.usage.getMultiple(caller, input);
  }

  @Handles(admin.usage.listOfWorkspace)
  listOfWorkspace(caller: AccountCaller, input: UsageQuery) {
    return this.usage.listOfWorkspace(caller, input);
  }

  @Handles(admin.usage.breakDownByBot)
  breakDownByBot(caller: AccountCaller, input: UsageQuery) {
    return this.usage.breakDownByBot(caller, input);
  }

  @Handles(admin.usage.listHistory)
  listHistory(caller: AccountCaller, input: UsageHistoryQuery) {
    return this.usage.listHistory(caller, input);
  }

  @Handles(admin.usage.listActivity)
  listActivity(caller: AccountCaller, input: UsageActivityQuery) {
    return this.usage.listActivity(caller, input);
  }

  @Handles(admin.usage.listDailyActivity)
  listDailyActivity(caller: AccountCaller, input: DailyUsageQuery) {
    return this.usage.listDailyActivity(caller, input);
  }

  @Handles(admin.billing.listInvoices)
  listInvoices(caller: AccountCaller, input: WorkspaceId) {
    return this.billing.listInvoices(caller, input);
  }

  @Handles(admin.billing.getUpcomingInvoice)
  getUpcomingInvoice(caller: AccountCaller, input: WorkspaceId) {
    return this.billing.getUpcomingInvoice(caller, input);
  }

  @Handles(admin.billing.chargeUnpaidInvoices)
  chargeUnpaidInvoices(caller: AccountCaller, input: ChargeUnpaidInvoices) {
    return this.billing.chargeUnpaidInvoices(caller, input);
  }
}
