import { Injectable } from '@nestjs/common';
import type { BudgetChanged } from '@parley/contracts/admin/budgets';
import { Database } from '@parley/persistence/database';
import { billionths } from './money';

/** Version of a deleted workspace: no amount is newer. */
const lastVersion = '9223372036854775807';

/** Amounts of budgets, as admin announces them. */
@Injectable()
export class AmountsRepository {
  constructor(private readonly database: Database) {}

  /** Keeps newer amounts, and none of a deleted bot. */
  async upsert({ scope, scopeId, dollars, tokens, version }: BudgetChanged): Promise<void> {
    await this.database.query(
      `INSERT INTO budget (scope, scope_id, max_cost, max_tokens, version)
       SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS (SELECT 1 FROM deleted_bot WHERE bot_id = $2)
       ON CONFLICT (scope, scope_id) DO UPDATE SET max_cost = excluded.max_cost, max_tokens = excluded.max_tokens,
         version = excluded.version, updated_at = now() WHERE budget.version < excluded.version`,
      [scope, scopeId, dollars === null ? null : Math.round(dollars * billionths), tokens, version],
    );
  }

  /** Leaves a row without amounts, so that a late event changes nothing. */
  async deleteOfWorkspace(workspaceId: string): Promise<void> {
    await this.database.query(
      `WITH spent AS (DELETE FROM spend WHERE scope = 'workspace' AND scope_id = $1),
       noted AS (DELETE FROM budget_notice WHERE scope = 'workspace' AND scope_id = $1)
       INSERT INTO budget (scope, scope_id, version) VALUES ('workspace', $1, ${lastVersion})
       ON CONFLICT (scope, scope_id) DO UPDATE SET max_cost = NULL, max_tokens = NULL, version = excluded.version`,
      [workspaceId],
    );
  }
}
