import { Injectable } from '@nestjs/common';
import type { Budget } from '@parley/contracts/admin/budgets';
import { notFound } from '@parley/contracts/errors';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { visible } from '../access/bot-visibility.repository';
import type { Viewer } from '../access/viewer';
import type { UsageSubject } from './usage.entity';

const billionths = 1_000_000_000;

/** `bigint` columns, which arrive as text. */
interface BudgetRow {
  name: string;
  budget_cost: string | null;
  budget_tokens: string | null;
}

export interface NamedBudget {
  /** Name of the bot or workspace. */
  name: string;
  budget: Budget;
}

@Injectable()
export class BudgetsRepository {
  constructor(private readonly database: Database) {}

  /** Throws ResourceNotFound. */
  getOfWorkspace(id: string): Promise<NamedBudget> {
    return this.get(this.database, 'workspace', 'id = $1', [id]);
  }

  /** Row lock until the transaction ends. Throws ResourceNotFound. */
  lockOfWorkspace(tx: Transaction, id: string): Promise<NamedBudget> {
    return this.get(tx, 'workspace', 'id = $1 FOR NO KEY UPDATE', [id]);
  }

  /** Throws ResourceNotFound for a bot that the viewer does not see. */
  getOfBot({ workspaceId, accountId }: Viewer, botId: string): Promise<NamedBudget> {
    return this.get(this.database, 'bot', `${visible} AND id = $3`, [workspaceId, accountId, botId]);
  }

  /** Row lock until the transaction ends. Throws ResourceNotFound for a bot that the viewer does not see. */
  lockOfBot(tx: Transaction, { workspaceId, accountId }: Viewer, botId: string): Promise<NamedBudget> {
    return this.get(tx, 'bot', `${visible} AND id = $3 FOR NO KEY UPDATE`, [workspaceId, accountId, botId]);
  }

  /** Needs the row lock. Returns the version of the amounts. */
  async update(tx: Transaction, scope: 'bot' | 'workspace', id: string, { dollars, tokens }: Budget): Promise<number> {
    const [row] = await tx.query<{ version: number }>(
      `UPDATE ${scope} SET budget_cost = $2, budget_tokens = $3, budget_version = budget_version + 1
       WHERE id = $1 RETURNING budget_version AS version`,
      [id, dollars === null ? null : Math.round(dollars * billionths), tokens],
    );
    if (!row) throw notFound(scope, id);
    return row.version;
  }

  /** US dollars that the subjects may spend in a month: a bot no more than its workspace. Without those that have no limit. */
  async listDollars(subjects: UsageSubject[]): Promise<Map<string, number>> {
    const rows = await this.database.query<{ id: string; cost: string | null }>(
      `SELECT subject.id, least(bot.budget_cost, workspace.budget_cost) AS cost
       FROM unnest($1::text[], $2::text[], $3::text[]) AS subject (id, workspace_id, bot_id)
       JOIN workspace ON workspace.id = subject.workspace_id LEFT JOIN bot ON bot.id = subject.bot_id
       WHERE least(bot.budget_cost, workspace.budget_cost) IS NOT NULL`,
      [
        subjects.map(({ id }) => id),
        subjects.map(({ workspace_id }) => workspace_id),
        subjects.map(({ bot_id }) => bot_id),
      ],
    );
    return new Map(rows.map(({ id, cost }) => [id, Number(cost) / billionths]));
  }

  private async get(
    sql: Sql,
    table: 'bot' | 'workspace',
    where: string,
    values: (string | null)[],
  ): Promise<NamedBudget> {
    const [row] = await sql.query<BudgetRow>(
      `SELECT name, budget_cost, budget_tokens FROM ${table} WHERE ${where}`,
      values,
    );
    if (!row) throw notFound(table, values.at(-1)!);
    const { name, budget_cost: cost, budget_tokens: tokens } = row;
    const dollars = cost === null ? null : Number(cost) / billionths;
    return { name, budget: { dollars, tokens: tokens === null ? null : Number(tokens) } };
  }
}
