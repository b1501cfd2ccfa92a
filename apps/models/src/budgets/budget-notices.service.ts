import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { atMostEntries } from '@parley/background/entry-limit';
import { writeLastBatches } from '@parley/background/write-last-batches';
import { type BudgetPercent, budgetReached } from '@parley/contracts/models/use';
import { Outbox } from '@parley/events/outbox';
import { Database } from '@parley/persistence/database';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { Every } from '@parley/work-queue/worker';
import { LRUCache } from 'lru-cache';
import { BudgetNoticesRepository, type Notice } from './budget-notices.repository';
import { inDollars } from './money';
import type { Exceeded, Payer, UsedBudget } from './spend.repository';

const writing = 'models.budgetNotices';
const writeMs = 200;
const idleMs = 60_000;
const warnedShare = 0.8;
const maxKnown = 30_000;

interface Waiting {
  notice: Notice;
  botId: string;
  exceeded: Exceeded;
}

/**
 * Notices of budgets of which 80 % are used or that refuse calls: one for each month and amount. Calls do not wait for them.
 * A notice that is lost with its process is found by the next call.
 */
@Injectable()
export class BudgetNoticesService implements BeforeApplicationShutdown {
  private readonly known = new LRUCache<string, true>(atMostEntries(maxKnown));
  private readonly waiting: Waiting[] = [];

  constructor(
    private readonly database: Database,
    private readonly notices: BudgetNoticesRepository,
    private readonly outbox: Outbox,
    private readonly tasks: BackgroundTasks,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  /** Notes a budget that refused a call. */
  refused(payer: Payer, exceeded: Exceeded): void {
    this.note(payer, exceeded, 100);
  }

  /** Notes the budgets that a call has used up, or used up to 80 %. */
  settled(payer: Payer, budgets: UsedBudget[]): void {
    for (const budget of budgets) {
      const share = Math.max(shareOf(budget.cost, budget.max_cost), shareOf(budget.tokens, budget.max_tokens));
      if (share >= warnedShare) this.note(payer, budget, 80);
      if (share >= 1) this.note(payer, budget, 100);
    }
  }

  @Every({ name: writing, everyMs: idleMs })
  async write(): Promise<boolean> {
    const next = this.waiting[0];
    if (!next) return false;
    const { notice, botId, exceeded } = next;
    await this.database.transaction(async (tx) => {
      if (!(await this.notices.insert(tx, notice))) return;
      await this.outbox.add(tx, budgetReached, {
        ...{ botId, scope: notice.scope, month: notice.month, percent: notice.percent },
        ...(exceeded.max_cost !== null && { maxDollars: inDollars(exceeded.max_cost) }),
        ...(exceeded.max_tokens !== null && { maxTokens: Number(exceeded.max_tokens) }),
      });
    });
    this.waiting.splice(this.waiting.indexOf(next), 1);
    return this.waiting.length > 0;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await writeLastBatches(() => this.write(), this.platform.logger);
  }

  private note({ botId, workspaceId, month }: Payer, exceeded: Exceeded, percent: BudgetPercent): void {
    const { scope, version } = exceeded;
    const notice = { scope, scopeId: scope === 'bot' ? botId : workspaceId, month, version, percent };
    const key = Object.values(notice).join('/');
    if (this.known.has(key)) return;
    this.known.set(key, true);
    this.waiting.push({ notice, botId, exceeded });
    this.tasks.wake(writing, writeMs);
  }
}

function shareOf(used: string, max: string | null): number {
  if (max === null) return 0;
  return Number(max) === 0 ? 1 : Number(used) / Number(max);
}
