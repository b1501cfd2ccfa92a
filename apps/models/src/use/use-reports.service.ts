import { Injectable } from '@nestjs/common';
import { type UsageChanged, usageChanged } from '@parley/contracts/admin/usage';
import { type Distribution, type ModelUseCounted, modelUseCounted } from '@parley/contracts/models/use';
import { Outbox } from '@parley/events/outbox';
import { Database, type Transaction } from '@parley/persistence/database';
import { Every } from '@parley/work-queue/worker';
import { monthOf } from '../budgets/budgets.service';
import { billionths } from '../budgets/money';
import { type HourRow, UseReportsRepository } from './use-reports.repository';

const reportMs = 60_000;
const dayMs = 24 * 3_600_000;

/**
 * Reports of the use of models: figures of each hour to chat, money spent in the month to admin. Both are cumulative, taken from
 * the records of the calls, so that calls have nothing to add to their statements and a repeated report changes nothing.
 */
@Injectable()
export class UseReportsService {
  constructor(
    private readonly database: Database,
    private readonly reports: UseReportsRepository,
    private readonly outbox: Outbox,
  ) {}

  /** Reports bots with new calls. One process at a time; safe to run in several. */
  @Every({ name: 'models.reportUse', everyMs: reportMs })
  report(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const period = await this.reports.advance(tx);
      if (!period) return false;
      const hours = await this.reports.listHours(tx, period.from, period.until);
      await this.outbox.addAll(tx, modelUseCounted, hours.map(toUse));
      await this.reportSpent(tx, new Map(hours.map(({ bot_id, workspace_id }) => [bot_id, workspace_id])));
      return period.is_behind;
    });
  }

  /** Reports what a bot has spent, before its sums are erased. */
  async reportSpent(tx: Transaction, workspaces: Map<string, string>): Promise<void> {
    const now = new Date();
    // A call counts for the month in which it began.
    const months = [...new Set([monthOf(new Date(now.getTime() - dayMs)), monthOf(now)])];
    const rows = await this.reports.listSpent(tx, [...workspaces.keys()], months);
    const reports = rows.map(({ bot_id, month, dollars }): UsageChanged => ({
      botId: bot_id,
      workspaceId: workspaces.get(bot_id)!,
      type: 'ai_spend',
      value: dollars,
      at: (month === monthOf(now) ? now : endOf(month)).toISOString(),
    }));
    await this.outbox.addAll(tx, usageChanged, reports);
  }
}

function endOf(month: string): Date {
  const next = new Date(`${month}-01T00:00:00Z`);
  next.setUTCMonth(next.getUTCMonth() + 1);
  return new Date(next.getTime() - 1);
}

function inDollars({ count, sum, squares, min, max }: Distribution): Distribution {
  const unit = billionths;
  return { count, sum: sum / unit, squares: squares / unit / unit, min: min / unit, max: max / unit };
}

function toUse(row: HourRow): ModelUseCounted {
  return {
    botId: row.bot_id,
    hour: row.hour.toISOString(),
    calls: row.calls,
    errors: row.errors,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    latency: row.latency,
    tokensPerSecond: row.tokens_per_second,
    cost: inDollars(row.cost),
  };
}
