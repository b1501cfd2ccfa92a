import { Controller } from '@nestjs/common';
import type { WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import type { Budget, BudgetBotId, ChangeAiSpendQuota, SetBotBudget } from '@parley/contracts/admin/budgets';
import { Handles } from '@parley/transport/handles';
import { BudgetsService } from './budgets.service';

@Controller()
export class BudgetsController {
  constructor(private readonly budgets: BudgetsService) {}

  @Handles(admin.quotas.changeAiSpend)
  changeAiSpendQuota(caller: WorkspaceCaller, input: ChangeAiSpendQuota) {
    return this.budgets.changeAiSpendQuota(caller, input);
  }

  @Handles(admin.budgets.getOfWorkspace)
  getOfWorkspace(caller: WorkspaceCaller) {
    return this.budgets.getOfWorkspace(caller);
  }

  @Handles(admin.budgets.setOfWorkspace)
  setOfWorkspace(caller: WorkspaceCaller, input: Budget) {
    return this.budgets.setOfWorkspace(caller, input);
  }

  @Handles(admin.budgets.getOfBot)
  getOfBot(caller: WorkspaceCaller, input: BudgetBotId) {
    return this.budgets.getOfBot(caller, input);
  }

  @Handles(admin.budgets.setOfBot)
  setOfBot(caller: WorkspaceCaller, input: SetBotBudget) {
    return this.budgets.setOfBot(caller, input);
  }
}
