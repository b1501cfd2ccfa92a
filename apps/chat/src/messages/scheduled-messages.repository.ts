import { Injectable } from '@nestjs/common';
import { eventsPending } from '@parley/contracts/chat/deliveries';
import { insertEventsOf, Outbox } from '@parley/events/outbox';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import type { DueRows } from '@parley/persistence/due-rows';
import { newId } from '@parley/persistence/ids';
import { lockNext } from '@parley/persistence/lock-next';
import { currentTraceparent } from '@parley/tracing/tracing';
import { isCalled } from '../announcements/pending-events.repository';
import type { ScheduledMessageEntity } from './message.entity';

/**
 * Condition for the event of a scheduled message; a `message_created` event that a bot created itself has a payload.
 * `IS TRUE` keeps Postgres from using the indexes on status and type, which it prefers until the statistics contain
 * scheduled rows.
 */
const isWaiting = `message_id IS NOT NULL AND (type = 'message_created' AND payload IS NULL AND status = 'scheduled') IS TRUE`;

/** Index scheduled_message_due. */
export const dueMessages: DueRows = { table: 'scheduled_message' };

export interface DueMessage extends ScheduledMessageEntity {
  event_id: string;
}

export interface Outcome {
  eventId: string;
  /** `gone`: the event is deleted. */
  status: 'pending' | 'gone' | 'failed';
  reason?: string;
}

const announced = insertEventsOf(
  eventsPending,
  `SELECT $5::text, jsonb_build_object('botId', $1::text, 'events', jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
     'id', id, 'type', type, 'conversationId', conversation_id, 'userId', user_id, 'workflowId', workflow_id))
     ORDER BY ordinal)), $6::text
   FROM finished WHERE status = 'pending' AND ${isCalled('$1')} HAVING count(*) > 0`,
);

/**
 * Scheduled messages. The lock on the event decides between writing and canceling. Lock order: canceling locks the
 * event, then the message; the worker locks the message first and skips locked events, so it never waits for one.
 */
@Injectable()
export class ScheduledMessagesRepository {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
  ) {}

  /**
   * Claims and deletes due messages of one bot, by due time. Skips rows that another process has locked. Indexes
   * scheduled_message_due and event_message.
   */
  async claimDueMessages(tx: Sql, limit: number): Promise<DueMessage[]> {
    const due = await tx.query<{ bot_id: string; id: string }>(
      lockNext({
        table: 'scheduled_message',
        columns: 'bot_id, id',
        where: 'due_at <= now()',
        orderBy: 'due_at',
        limit: '$1',
      }),
      [limit],
    );
    if (due.length === 0) return [];
    const botId = due[0]!.bot_id;
    return tx.query<DueMessage>(
      `WITH waiting AS MATERIALIZED (
         ${lockNext({
           table: 'event',
           columns: 'message_id, id',
           where: `bot_id = $1 AND message_id = ANY ($2) AND ${isWaiting}`,
           orderBy: 'message_id, id',
           limit: 'ALL',
           strength: 'NO KEY UPDATE',
         })}),
       gone AS (
         DELETE FROM scheduled_message WHERE bot_id = $1 AND id = ANY ($2) AND id IN (SELECT message_id FROM waiting)
         RETURNING *)
       SELECT gone.*, waiting.id AS event_id FROM gone JOIN waiting ON waiting.message_id = gone.id
       ORDER BY gone.due_at, gone.id`,
      [botId, due.filter(({ bot_id }) => bot_id === botId).map(({ id }) => id)],
    );
  }

  /** At most 200 outcomes. Also announces the pending events in the order of the outcomes, if the bot is called. */
  async finishScheduledEvents(tx: Transaction, botId: string, outcomes: Outcome[]): Promise<void> {
    const announcements = await tx.query(
      `WITH outcome AS (
         SELECT * FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY
           AS outcome (event_id, status, reason, ordinal)),
       gone AS (
         DELETE FROM event USING outcome WHERE bot_id = $1 AND id = event_id AND outcome.status = 'gone'),
       finished AS (
         UPDATE event SET status = outcome.status, failure_reason = outcome.reason FROM outcome
         WHERE bot_id = $1 AND id = event_id AND outcome.status <> 'gone'
         RETURNING event.*, ordinal)
       ${announced} RETURNING 1`,
      [
        botId,
        outcomes.map(({ eventId }) => eventId),
        outcomes.map(({ status }) => status),
        outcomes.map(({ reason }) => reason ?? null),
        newId('outbox'),
        currentTraceparent() ?? null,
      ],
    );
    if (announcements.length > 0) tx.afterCommit(() => this.outbox.wake());
  }

  /** Also cancels the event. False if the message was written or canceled meanwhile. Index event_message. */
  async cancelScheduledMessage(
    tx: Sql,
    { bot_id, id }: Pick<ScheduledMessageEntity, 'bot_id' | 'id'>,
  ): Promise<boolean> {
    await tx.query(
      `UPDATE event SET status = 'canceled', due_at = least(due_at, now()) WHERE bot_id = $1 AND message_id = $2 AND ${isWaiting}`,
      [bot_id, id],
    );
    const gone = await tx.query('DELETE FROM scheduled_message WHERE bot_id = $1 AND id = $2 RETURNING 1', [
      bot_id,
      id,
    ]);
    return gone.length > 0;
  }
}
