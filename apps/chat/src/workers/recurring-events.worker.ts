import { Inject, Injectable } from '@nestjs/common';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import { RecurringEventsService } from '../recurring-events/recurring-events.service';
import { DueWorker } from './due-worker';

const eventsAtOnce = 50;

/**
 * Creates an event for each due recurring event. Several missed times result in one event. Safe to run in several
 * processes.
 */
@Injectable()
export class RecurringEventsWorker extends DueWorker {
  constructor(
    private readonly recurring: RecurringEventsService,
    @Inject(platformToken) platform: Platform,
    { sweepIntervalMs }: ChatConfig,
  ) {
    super('chat.recurringEvents', platform, sweepIntervalMs);
    recurring.onReplaced(() => this.loop.wake());
  }

  protected msUntilNextDue(withinMs: number): Promise<number | undefined> {
    return this.recurring.msUntilNextDue(withinMs);
  }

  /** True after any change, so that the next round reads the new due times. */
  protected async processDue(): Promise<boolean> {
    const rescheduled = await this.recurring.rescheduleAfterClockSkew(eventsAtOnce);
    return (await this.recurring.createDueEvents(eventsAtOnce)) + rescheduled > 0;
  }
}
