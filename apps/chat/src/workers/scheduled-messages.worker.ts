import { Inject, Injectable } from '@nestjs/common';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import { ScheduledMessagesService } from '../messages/scheduled-messages.service';
import { DueWorker } from './due-worker';

const messagesAtOnce = 50;

/** Writes scheduled messages when they are due. Safe to run in several processes. */
@Injectable()
export class ScheduledMessagesWorker extends DueWorker {
  constructor(
    private readonly scheduled: ScheduledMessagesService,
    @Inject(platformToken) platform: Platform,
    { sweepIntervalMs }: ChatConfig,
  ) {
    super('chat.scheduledMessages', platform, sweepIntervalMs);
    scheduled.onScheduled((dueAt) => this.wakeAt(dueAt));
  }

  protected msUntilNextDue(withinMs: number): Promise<number | undefined> {
    return this.scheduled.msUntilNextDue(withinMs);
  }

  protected async processDue(): Promise<boolean> {
    return (await this.scheduled.writeDue(messagesAtOnce)) > 0;
  }
}
