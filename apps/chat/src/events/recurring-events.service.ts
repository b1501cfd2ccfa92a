import { Injectable } from '@nestjs/common';
import type { ResolvedBotDefinition } from '@parley/contracts/admin/bot-definitions';
import { recurringEventSettled } from '@parley/contracts/chat/recurring-outcomes';
import type { SettledStatus } from '@parley/contracts/runtime/deliveries';
import { Outbox } from '@parley/events/outbox';
import { Database, type Transaction } from '@parley/persistence/database';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { WhenDue } from '@parley/work-queue/worker';
import { ChatConfig } from '../config';
import { EventsRepository } from './events.repository';
import { firstTime, nextTimeAfter } from './cron-time';
import { dueRecurringEvents, RecurringEventsRepository } from './recurring-events.repository';

const creating = 'chat.recurringEvents';
const eventsAtOnce = 50;

export interface SettledRecurringEvent {
  bot_id: string;
  /** Null for other events. */
  recurring_name: string | null;
  status: SettledStatus;
  failure_reason: string | null;
}

@Injectable()
export class RecurringEventsService {
  constructor(
    private readonly database: Database,
    private readonly recurring: RecurringEventsRepository,
    private readonly events: EventsRepository,
    private readonly outbox: Outbox,
    private readonly tasks: BackgroundTasks,
    private readonly config: ChatConfig,
  ) {}

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
      tx.afterCommit(() => this.tasks.wake(creating));
    });
  }

  /**
   * Creates an event for each due recurring event. Several missed times result in one event. Safe to run in several
   * processes. True after any change, so that the new due times are read.
   */
  @WhenDue<RecurringEventsService>({
    name: creating,
    rows: dueRecurringEvents,
    everyMs: ({ config }) => config.sweepIntervalMs,
  })
  async createDue(): Promise<boolean> {
    const rescheduled = await this.rescheduleAfterClockSkew();
    return (await this.createDueEvents()) + rescheduled > 0;
  }

  /**
   * Counts failures and announces a changed failure state. Call it in the transaction that settled the events, in their
   * order. An ignored event is neither a failure nor a success.
   */
  async noteOutcomes(tx: Transaction, settled: SettledRecurringEvent[]): Promise<void> {
    for (const { bot_id: botId, recurring_name: name, status, failure_reason: reason } of settled) {
      if (name === null || status === 'ignored') continue;
      const isFailed = status === 'failed';
      const state = await this.recurring.countOutcome(tx, botId, name, isFailed);
      if (state)
        await this.outbox.add(tx, recurringEventSettled, {
          ...{ botId, name, failedAttempts: state.failed_attempts },
          lastFailureReason: isFailed ? reason : null,
          revision: state.settled_at.getTime(),
        });
    }
  }

  private createDueEvents(): Promise<number> {
    return this.database.transaction(async (tx) => {
      const due = await this.recurring.claimDueRecurringEvents(tx, eventsAtOnce);
      if (due.length === 0) return 0;
      await this.events.insertEvents(
        tx,
        due.map(({ bot_id, name, type, payload }) => ({ bot_id, type, payload, recurring_name: name })),
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
  private rescheduleAfterClockSkew(): Promise<number> {
    return this.database.transaction(async (tx) => {
      const tooFarAhead = await this.recurring.claimRecurringEventsTooFarAhead(tx, eventsAtOnce);
      const next = tooFarAhead.map(({ bot_id, name, cron, now }) => ({ bot_id, name, ...firstTime(cron, now) }));
      if (next.length > 0) await this.recurring.rescheduleRecurringEvents(tx, next);
      return next.length;
    });
  }
}
