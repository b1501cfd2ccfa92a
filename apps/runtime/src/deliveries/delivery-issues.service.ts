import { Injectable } from '@nestjs/common';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { type Failure, IssueRecordsService } from '../records/issue-records.service';
import type { DeliveryPayload } from './delivery-queues';

const maxRecorded = 30_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Issues of deliveries. Recording does not wait for the database. */
@Injectable()
export class DeliveryIssuesService {
  /** Issues that were recorded a while ago, by kind and bot. */
  private readonly recorded = new LRUCache<string, true>(atMostEntries(maxRecorded));

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
  recordDelay(payload: DeliveryPayload, reason: string): void {
    this.recordOnce(minuteMs, payload, {
      code: 'events_delayed',
      category: 'limits',
      title: 'Events of the bot were delayed',
      description: `${reason} The others are delayed. A bot that answers itself sends events without end.`,
    });
  }

  /** At most once an hour for each bot. */
  recordIgnored(payload: DeliveryPayload, reason: string): void {
    this.recordOnce(hourMs, payload, {
      code: 'events_ignored',
      category: 'limits',
      title: 'Too many events waited for the bot',
      description: reason,
    });
  }

  /** At most once an hour for each bot. */
  recordOverQuota(payload: DeliveryPayload, reason: string): void {
    this.recordOnce(hourMs, payload, {
      code: 'quota_exceeded',
      category: 'limits',
      title: 'The workspace has used up its calls of bots',
      description: `${reason} Events wait for 24 hours at most.`,
    });
  }

  /** At most once a minute for each bot. */
  recordPause(payload: DeliveryPayload, reason: string): void {
    this.recordOnce(minuteMs, payload, {
      code: 'code_paused',
      category: 'user_code',
      title: 'The code of the bot ends again and again, and pauses',
      description: `${reason} Events wait for 24 hours at most. A deployment ends the pause.`,
    });
  }

  private recordOnce(pauseMs: number, { botId, type }: DeliveryPayload, issue: Omit<Failure, 'botId' | 'data'>): void {
    const key = `${issue.code}/${botId}`;
    if (this.recorded.has(key)) return;
    this.recorded.set(key, true, { ttl: pauseMs });
    this.issues.record({ botId, ...issue, data: { eventType: { raw: type } } });
  }
}
