import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { IssueRecordsService } from '../issues/issue-records.service';
import type { DeliveryPayload } from './delivery-queues';

const maxBots = 10_000;
const delayPauseMs = 60_000;
const overQuotaPauseMs = 60 * 60_000;
const ignoredPauseMs = 60 * 60_000;

/** Issues of deliveries. Recording does not wait for the database. */
@Injectable()
export class DeliveryIssuesService {
  /** Bots whose delays were recorded in the last minute. */
  private readonly delayed = new LRUCache<string, true>({ max: maxBots, ttl: delayPauseMs });

  /** Bots whose used-up quota was recorded in the last hour. */
  private readonly overQuota = new LRUCache<string, true>({ max: maxBots, ttl: overQuotaPauseMs });

  /** Bots whose ignored events were recorded in the last hour. */
  private readonly ignored = new LRUCache<string, true>({ max: maxBots, ttl: ignoredPauseMs });

  constructor(private readonly issues: IssueRecordsService) {}

  recordFailure({ botId, eventId, type }: DeliveryPayload, reason: string): void {
    this.issues.record({
      botId,
      code: 'event_failed',
      category: 'user_code',
      title: 'The bot failed to handle an event',
      description: reason,
      data: { eventId: { raw: eventId }, eventType: { raw: type }, reason: { raw: reason } },
    });
  }

  /** At most once a minute for each bot. */
  recordDelay({ botId, type }: DeliveryPayload, reason: string): void {
    if (this.delayed.has(botId)) return;
    this.delayed.set(botId, true);
    this.issues.record({
      botId,
      code: 'events_delayed',
      category: 'limits',
      title: 'Events of the bot were delayed',
      description: `${reason} The others are delayed. A bot that answers itself sends events without end.`,
      data: { eventType: { raw: type } },
    });
  }

  /** At most once an hour for each bot. */
  recordIgnored({ botId, type }: DeliveryPayload, reason: string): void {
    if (this.ignored.has(botId)) return;
    this.ignored.set(botId, true);
    this.issues.record({
      botId,
      code: 'events_ignored',
      category: 'limits',
      title: 'Too many events waited for the bot',
      description: reason,
      data: { eventType: { raw: type } },
    });
  }

  /** At most once an hour for each bot. */
  recordOverQuota({ botId, type }: DeliveryPayload, reason: string): void {
    if (this.overQuota.has(botId)) return;
    this.overQuota.set(botId, true);
    this.issues.record({
      botId,
      code: 'quota_exceeded',
      category: 'limits',
      title: 'The workspace has used up its calls of bots',
      description: `${reason} Events wait for 24 hours at most.`,
      data: { eventType: { raw: type } },
    });
  }
}
