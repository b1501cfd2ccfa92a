import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import { Database } from '@parley/persistence/database';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import { EventsRepository } from '../events/events.repository';
import { firstTime, nextTimeAfter } from './cron-time';
import { RecurringEventsRepository } from './recurring-events.repository';

const eventsAtOnce = 50;

/**
 * Creates an event for each due recurring event. Several missed times result in one event. Safe to run in several
 * processes.
 */
@Injectable()
export class RecurringEvents implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly loop: PollingWorker;
  private isStopping = false;

  constructor(
    private readonly database: Database,
    private readonly recurring: RecurringEventsRepository,
    private readonly events: EventsRepository,
    @Inject(platformToken) { logger }: Platform,
    private readonly config: ChatConfig,
  ) {
    const intervalMs = config.sweepIntervalMs;
    this.loop = new PollingWorker({ name: 'chat.recurringEvents', intervalMs, logger }, () => this.round());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onModuleDestroy(): void {
    this.isStopping = true;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  /** Call after a change of recurring events. Changes in another process are found within one sweep interval. */
  wake(): void {
    this.loop.wake();
  }

  private async round(): Promise<boolean> {
    if (this.isStopping) return false;
    if ((await this.replaceMisplaced()) === eventsAtOnce) return true;
    if ((await this.fire()) === eventsAtOnce) return true;
    const nextInMs = await this.recurring.msUntilNextDue(this.config.sweepIntervalMs);
    if (nextInMs !== undefined) this.loop.wakeIn(nextInMs);
    return false;
  }

  private async fire(): Promise<number> {
    return this.database.transaction(async (tx) => {
      const due = await this.recurring.takeDue(tx, eventsAtOnce);
      if (due.length === 0) return 0;
      await this.events.add(
        tx,
        due.map(({ bot_id, type, payload }) => ({ bot_id, type, payload })),
      );
      const { recurringMinSeconds: minSeconds } = this.config;
      const next = due.map(({ bot_id, name, cron, next_at: dueAt, now }) => ({
        ...{ bot_id, name },
        ...nextTimeAfter(cron, now, { dueAt, minSeconds }),
      }));
      await this.recurring.reschedule(tx, next);
      return due.length;
    });
  }

  /** Clock skew: if the clock went ahead and back, events would not recur until the time of the wrong clock is reached. */
  private async replaceMisplaced(): Promise<number> {
    return this.database.transaction(async (tx) => {
      const misplaced = await this.recurring.takeMisplaced(tx, eventsAtOnce);
      const next = misplaced.map(({ bot_id, name, cron, now }) => ({ bot_id, name, ...firstTime(cron, now) }));
      if (next.length > 0) await this.recurring.reschedule(tx, next);
      return next.length;
    });
  }
}
