import { Injectable } from '@nestjs/common';
import { type Outcome, queue, RetryLater, type Work } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { Worker } from '@parley/work-queue/worker';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { RuntimeConfig } from '../config';
import { DeliveriesRepository, type WaitingDelivery } from './deliveries.repository';
import { DeliveryIssuesService } from './delivery-issues.service';
import { DeliveryMetricsService } from './delivery-metrics.service';
import { deliveryKey, deliveryQueue } from './delivery-queues';
import { PendingEventsClient } from './pending-events.client';
import { SettlementsService } from './settlements.service';

/** Bots, by id, that cannot be called and whose waiting deliveries are to be limited. */
const limits = queue('runtime.waitingDeliveries', { repeated: 'again' });

const maxBots = 10_000;
/** Counting reads all waiting deliveries of the bot, so it is not done for each one. */
const pauseMs = 3_000;
/** Shorter than the pause: a delivery that comes right after a note is in the count that the note causes. */
const notePauseMs = pauseMs / 2;
const batchSize = 100;

/** Limits the deliveries that wait for a bot that cannot be called: the events of the oldest are ignored. */
@Injectable()
export class WaitingDeliveriesWorker {
  /** Bots that were noted a moment ago. */
  private readonly noted = new LRUCache<string, true>({ ...atMostEntries(maxBots), ttl: notePauseMs });
  private readonly reason: string;

  constructor(
    private readonly deliveries: DeliveriesRepository,
    private readonly pending: PendingEventsClient,
    private readonly settlements: SettlementsService,
    private readonly issues: DeliveryIssuesService,
    private readonly metrics: DeliveryMetricsService,
    private readonly queue: WorkQueue,
    private readonly config: RuntimeConfig,
  ) {
    const limit = config.deliveriesWaitingPerBot.toLocaleString('en-US');
    this.reason = `More than ${limit} events waited for the bot, which could not be called: the oldest are ignored.`;
  }

  /** Call it before a delivery of the bot is parked. */
  async note(botId: string): Promise<void> {
    if (this.noted.has(botId)) return;
    this.noted.set(botId, true);
    await this.queue.addNow(limits, [
      { key: botId, tenant: botId, payload: null, dueAt: new Date(Date.now() + pauseMs) },
    ]);
  }

  /** Idempotent: a delivery that is settled and was not discarded ends when it is woken. */
  @Worker<null, WaitingDeliveriesWorker>(limits, { concurrency: 1 })
  async ignoreOldest({ key: botId }: Work<null>): Promise<Outcome> {
    const { deliveriesWaitingPerBot: limit } = this.config;
    const oldest = await this.deliveries.listOldestBeyond(botId, limit, batchSize);
    const waiting = oldest.filter(({ isTried }) => !isTried);
    await this.ignoreAll(botId, waiting);
    if (oldest.length === batchSize && waiting.length > 0) return 'more';
    // A delivery that is tried is parked or ends a moment later.
    if (waiting.length < oldest.length) throw new RetryLater('Deliveries beyond the limit are being tried.', pauseMs);
  }

  private async ignoreAll(botId: string, oldest: WaitingDelivery[]): Promise<void> {
    if (oldest.length === 0) return;
    await Promise.all(oldest.map((delivery) => this.ignore(delivery)));
    // The newest first: discarding the first of an ordering key would let the next one run.
    for (const { eventId } of oldest.toReversed()) await this.queue.discard(deliveryQueue, deliveryKey(botId, eventId));
    this.issues.recordIgnored(oldest[0]!, this.reason);
  }

  private async ignore({ botId, eventId, type, created_at }: WaitingDelivery): Promise<void> {
    const { event, replays = 0 } = await this.pending.find({ botId, eventId });
    if (!event) return;
    const outcome = { status: 'ignored' as const, reason: this.reason, attempts: [] };
    await this.settlements.settle({ bot_id: botId, event_id: eventId, type, replays, created_at, ...outcome });
    this.metrics.countDelivery('ignored');
  }
}
