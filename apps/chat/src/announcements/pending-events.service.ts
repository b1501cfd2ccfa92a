import { Injectable } from '@nestjs/common';
import type { BotTargetChanged } from '@parley/contracts/admin/targets';
import { Database } from '@parley/persistence/database';
import { queue, type Work } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { Worker } from '@parley/work-queue/worker';
import { PendingEventsRepository } from './pending-events.repository';

/** Bots that are called now and were not before. */
const announceEvents = queue('chat.announceEvents');

const eventsAtOnce = 1_000;
const maxAgeHours = 24;
/** Statements that began before the bot was called have ended by then. */
const secondLookMs = 15_000;

/** Announces the events that became pending while the bot was not called. Those that waited for over a day are ignored. */
@Injectable()
export class PendingEventsService {
  constructor(
    private readonly database: Database,
    private readonly pending: PendingEventsRepository,
    private readonly work: WorkQueue,
  ) {}

  async noteTarget({ botId, isCalled, revision }: BotTargetChanged): Promise<void> {
    await this.database.transaction(async (tx) => {
      if (!(await this.pending.storeNewerTarget(tx, { botId, isCalled, revision }))) return;
      const work = { tenant: botId, payload: null };
      await this.work.add(tx, announceEvents, [
        { ...work, key: `${botId}:${revision}` },
        { ...work, key: `${botId}:${revision}:again`, dueAt: new Date(Date.now() + secondLookMs) },
      ]);
    });
  }

  /** Idempotent: an event that is announced twice is delivered once. */
  @Worker(announceEvents, { concurrency: 2, attempts: Infinity })
  async announce({ tenant: botId, signal }: Work<null>): Promise<void> {
    const announceAfter = (id: string) =>
      this.database.transaction((tx) => this.pending.announcePendingAfter(tx, botId, id, eventsAtOnce));
    for (let more = true; more; signal.throwIfAborted())
      more = (await this.pending.ignoreOldEvents(botId, maxAgeHours, eventsAtOnce)) === eventsAtOnce;
    let last = await announceAfter('');
    while (last !== undefined) {
      signal.throwIfAborted();
      last = await announceAfter(last);
    }
  }
}
