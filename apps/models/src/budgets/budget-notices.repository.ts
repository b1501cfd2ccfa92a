import { Injectable } from '@nestjs/common';
import type { BudgetScope } from '@parley/contracts/admin/budgets';
import type { BudgetPercent } from '@parley/contracts/models/use';
import type { Transaction } from '@parley/persistence/database';

export interface Notice {
  scope: BudgetScope;
  scopeId: string;
  month: string;
  version: string;
  percent: BudgetPercent;
}

@Injectable()
export class BudgetNoticesRepository {
  /** False if it was noted before. */
  async insert(tx: Transaction, { scope, scopeId, month, version, percent }: Notice): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO budget_notice (scope, scope_id, month, version, percent) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT DO NOTHING RETURNING 1`,
      [scope, scopeId, month, version, percent],
    );
    return rows.length > 0;
  }
}
