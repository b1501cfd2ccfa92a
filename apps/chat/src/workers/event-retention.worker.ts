import { Inject, Injectable } from '@nestjs/common';
import { BackgroundWorker } from '@parley/service/background-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import { EventRetentionRepository } from '../events/event-retention.repository';

const intervalMs = 10 * 60_000;
const botsAtOnce = 100;
const eventsAtOnce = 1_000;
const dayMs = 24 * 60 * 60_000;

/**
 * Retention: deletes events older than the retention period in any status, because nothing handles events that old.
 * Keeps scheduled events and messages. Safe to run in several processes.
 */
@Injectable()
export class EventRetentionWorker extends BackgroundWorker {
  private lastBotId = '';

  constructor(
    private readonly events: EventRetentionRepository,
    @Inject(platformToken) { logger }: Platform,
    private readonly config: ChatConfig,
  ) {
    super({ name: 'chat.eventRetention', intervalMs, logger });
  }

  protected async round(): Promise<boolean> {
    const before = new Date(Date.now() - this.config.eventRetentionDays * dayMs);
    const bots = await this.events.listBotsWithEvents(this.lastBotId, before, botsAtOnce);
    for (const { bot_id: botId, has_old: hasOld } of bots) {
      if (hasOld) await this.deleteOld(botId, before);
      if (this.isStopping) return false;
    }
    this.lastBotId = bots.length === botsAtOnce ? bots.at(-1)!.bot_id : '';
    return this.lastBotId !== '';
  }

  /** Batches keep locks short. */
  private async deleteOld(botId: string, before: Date): Promise<void> {
    for (let more = true; more && !this.isStopping;)
      more = (await this.events.deleteOldEvents(botId, before, eventsAtOnce)) > 0;
  }
}
