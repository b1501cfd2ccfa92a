import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { writeLastBatches } from '@parley/background/write-last-batches';
import type { BotTarget } from '@parley/contracts/admin/targets';
import { usageChanged } from '@parley/contracts/admin/usage';
import { Outbox } from '@parley/events/outbox';
import { Database, type Transaction } from '@parley/persistence/database';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { Every, WhenDue } from '@parley/work-queue/worker';
import { CallCountsRepository, type CallTotal, type CountedCalls, dueReports } from './call-counts.repository';

const writing = 'runtime.callCounts';
const reporting = 'runtime.callReports';
const writeMs = 2_000;
/** Each call starts a round of writing, and each writing one of reporting; this finds the reports of ended processes. */
const idleMs = 30_000;
const cleanMs = 6 * 60 * 60_000;
const maxTogether = 500;

/**
 * Usage `invocation_calls`: calls by bot and month (UTC). Counted in memory and written every 2 s, one statement for all
 * bots: cheaper than a statement in each group commit of deliveries. A process that is killed loses the counts of 2 s.
 */
@Injectable()
export class CallCountsService implements BeforeApplicationShutdown {
  private counted = new Map<string, CountedCalls>();

  constructor(
    private readonly database: Database,
    private readonly counts: CallCountsRepository,
    private readonly outbox: Outbox,
    private readonly tasks: BackgroundTasks,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  count({ botId, workspaceId }: Pick<BotTarget, 'botId' | 'workspaceId'>): void {
    const month = new Date().toISOString().slice(0, 'yyyy-mm'.length);
    this.add({ bot_id: botId, month, workspace_id: workspaceId, calls: 1 });
  }

  @Every({ name: writing, everyMs: idleMs })
  async write(): Promise<boolean> {
    const batch = [...this.counted].slice(0, maxTogether);
    if (batch.length === 0) return false;
    for (const [key] of batch) this.counted.delete(key);
    try {
      await this.counts.addCalls(batch.map(([, counted]) => counted));
    } catch (error) {
      for (const [, counted] of batch) this.add(counted);
      throw error;
    }
    this.tasks.wake(reporting);
    return this.counted.size > 0;
  }

  /** Reports totals to admin: those of one bot at most once a minute. */
  @WhenDue({ name: reporting, rows: dueReports, everyMs: idleMs })
  report(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const totals = await this.counts.takeDue(tx, maxTogether);
      await this.announce(tx, totals);
      return totals.length === maxTogether;
    });
  }

  @Every({ name: 'runtime.callRetention', everyMs: cleanMs })
  async deleteOld(): Promise<void> {
    await this.counts.deleteOld();
  }

  /** Idempotent. Reports what was not reported yet. */
  async eraseBot(botId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await this.announce(tx, await this.counts.deleteOfBot(tx, botId));
    });
  }

  countOfBot(botId: string): Promise<number> {
    return this.counts.countOfBot(botId);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await writeLastBatches(() => this.write(), this.platform.logger);
  }

  private add(counted: CountedCalls): void {
    const key = `${counted.bot_id}/${counted.month}`;
    this.counted.set(key, { ...counted, calls: counted.calls + (this.counted.get(key)?.calls ?? 0) });
    this.tasks.wake(writing, writeMs);
  }

  private async announce(tx: Transaction, totals: CallTotal[]): Promise<void> {
    const reports = totals.map(({ bot_id, workspace_id, calls, at }) => ({
      botId: bot_id,
      workspaceId: workspace_id,
      type: 'invocation_calls' as const,
      value: Number(calls),
      at: at.toISOString(),
    }));
    await this.outbox.addAll(tx, usageChanged, reports);
  }
}
