import { Inject, Injectable } from '@nestjs/common';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import { EventsRepository } from '../events/events.repository';
import { EventsService } from '../events/events.service';
import { DueWorker } from './due-worker';

const eventsAtOnce = 500;

/** Makes scheduled events `pending` when they are due. Safe to run in several processes. */
@Injectable()
export class DueEventsWorker extends DueWorker {
  constructor(
    private readonly events: EventsRepository,
    service: EventsService,
    @Inject(platformToken) platform: Platform,
    { sweepIntervalMs }: ChatConfig,
  ) {
    super('chat.dueEvents', platform, sweepIntervalMs);
    service.onScheduled((dueAt) => this.wakeAt(dueAt));
  }

  protected msUntilNextDue(withinMs: number): Promise<number | undefined> {
    return this.events.msUntilNextDueEvent(withinMs);
  }

  protected async processDue(): Promise<boolean> {
    return (await this.events.releaseDueEvents(eventsAtOnce)) === eventsAtOnce;
  }
}
