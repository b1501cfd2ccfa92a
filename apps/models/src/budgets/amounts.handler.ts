import { Controller } from '@nestjs/common';
import { type BudgetChanged, keepBudget } from '@parley/contracts/admin/budgets';
import { dropWorkspaceInModels, type WorkspaceDeleted } from '@parley/contracts/admin/workspaces';
import { Consumes } from '@parley/transport/handles';
import { AmountsRepository } from './amounts.repository';

/** Safe to repeat and in any order: older versions change nothing. */
@Controller()
export class AmountsHandler {
  constructor(private readonly amounts: AmountsRepository) {}

  @Consumes(keepBudget)
  async keep(change: BudgetChanged): Promise<void> {
    await this.amounts.upsert(change);
  }

  @Consumes(dropWorkspaceInModels)
  async dropWorkspace({ workspaceId }: WorkspaceDeleted): Promise<void> {
    await this.amounts.deleteOfWorkspace(workspaceId);
  }
}
