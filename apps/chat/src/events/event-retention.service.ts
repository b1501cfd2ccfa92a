import { Injectable } from '@nestjs/common';
import type { EventStatus } from '@parley/contracts/chat/events';
import { Every, type Round } from '@parley/work-queue/worker';
import { ChatConfig } from '../config';
import { EventRetentionRepository } from './event-retention.repository';

/** Every status except `scheduled`. */
const deleted: EventStatus[] = ['processed', 'pending', 'ignored', 'failed', 'canceled'];
const intervalMs = 10 * 60_000;
const botsAtOnce = 100;
const eventsAtOnce = 1_000;
const dayMs = 24 * 60 * 60_000;

/**
 * Retention: deletes events older than the retention period in any status, because nothing handles events that old.
 * Keeps scheduled events and messages. Safe to run in several processes.
 */
@Injectable()
export class EventRetentionService {
  private lastBotId = '';

  constructor(
    private readonly events: EventRetentionRepository,
    private readonly config: ChatConfig,
  ) {}

  @Every({ name: 'chat.eventRetention', everyMs: intervalMs })
  async deleteOld({ signal }: Round): Promise<boolean> {
    const before = new Date(Date.now() - this.config.eventRetentionDays * dayMs);
    const bots = await this.events.listBotsWithEvents(this.lastBotId, before, botsAtOnce);
    for (const { bot_id: botId, has_old: hasOld } of bots) {
      if (hasOld) await this.deleteOldOfBot(botId, before, signal);
      if (signal.aborted) return false;
    }
    this.lastBotId = bots.length === botsAtOnce ? bots.at(-1)!.bot_id : '';
    return this.lastBotId !== '';
  }

  /** Batches keep locks short. */
  private async deleteOldOfBot(botId: string, before: Date, signal: AbortSignal): Promise<void> {
    for (const status of deleted) {
      for (let last: string | undefined = ''; last !== undefined && !signal.aborted;)
        last = await this.events.deleteOldEventsAfter(last, botId, status, before, eventsAtOnce);
    }
  }
}
