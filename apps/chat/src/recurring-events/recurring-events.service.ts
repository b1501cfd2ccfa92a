import { Injectable } from '@nestjs/common';
import type { ResolvedBotDefinition } from '@parley/contracts/admin/bot-definitions';
import { Database } from '@parley/persistence/database';
import { ChatConfig } from '../config';
import { EventsRepository } from '../events/events.repository';
import { firstTime, nextTimeAfter } from './cron-time';
import { RecurringEventsRepository } from './recurring-events.repository';

@Injectable()
export class RecurringEventsService {
  private wakeWorker: () => void = () => undefined;

  constructor(
    private readonly database: Database,
    private readonly recurring: RecurringEventsRepository,
    private readonly events: EventsRepository,
    private readonly config: ChatConfig,
  ) {}

  /** Sets the callback that wakes the worker after a change of recurring events. */
  onReplaced(wake: () => void): void {
    this.wakeWorker = wake;
  }

  /** Does nothing if this or a newer revision was stored before. */
  async replace(bot: ResolvedBotDefinition): Promise<void> {
    const { botId, recurringEvents, recurringEventsRevision } = bot;
    await this.database.transaction(async (tx) => {
      const now = await this.recurring.storeNewerRevision(tx, botId, recurringEventsRevision);
      if (!now) return;
      const rows = Object.entries(recurringEvents).map(([name, { type, payload, schedule }]) => ({
        ...{ bot_id: botId, name, type, payload },
        cron: schedule.cron,
        ...firstTime(schedule.cron, now),
      }));
      await this.recurring.replaceRecurringEvents(tx, botId, rows);
      tx.afterCommit(() => this.wakeWorker());
    });
  }

  msUntilNextDue(withinMs: number): Promise<number | undefined> {
    return this.recurring.msUntilNextRecurringEvent(withinMs);
  }

  /** Creates at most `limit` events for due recurring events and returns their number. */
  createDueEvents(limit: number): Promise<number> {
    return this.database.transaction(async (tx) => {
      const due = await this.recurring.claimDueRecurringEvents(tx, limit);
      if (due.length === 0) return 0;
      await this.events.insertEvents(
        tx,
        due.map(({ bot_id, type, payload }) => ({ bot_id, type, payload })),
      );
      const { recurringMinSeconds: minSeconds } = this.config;
      const next = due.map(({ bot_id, name, cron, next_at: dueAt, now }) => ({
        ...{ bot_id, name },
        ...nextTimeAfter(cron, now, { dueAt, minSeconds }),
      }));
      await this.recurring.rescheduleRecurringEvents(tx, next);
      return due.length;
    });
  }

  /**
   * Clock skew: if the clock went ahead and back, events would not recur until the time of the wrong clock is reached.
   * Returns the number of rescheduled events.
   */
  rescheduleAfterClockSkew(limit: number): Promise<number> {
    return this.database.transaction(async (tx) => {
      const tooFarAhead = await this.recurring.claimRecurringEventsTooFarAhead(tx, limit);
      const next = tooFarAhead.map(({ bot_id, name, cron, now }) => ({ bot_id, name, ...firstTime(cron, now) }));
      if (next.length > 0) await this.recurring.rescheduleRecurringEvents(tx, next);
      return next.length;
    });
  }
}
