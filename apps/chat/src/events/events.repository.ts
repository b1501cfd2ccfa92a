import { Injectable } from '@nestjs/common';
import type { ListEvents } from '@parley/contracts/chat/events';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { newId, timeOfId } from '@parley/persistence/ids';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { toJsonb } from '@parley/persistence/storable';
import { lockNext } from '@parley/persistence/lock-next';
import { BoundedReadsService } from '../queries/bounded-reads.service';
import { givenColumns, toEquality } from '../queries/list-statements';
import { inScope, isOf, type Scope } from '../queries/scope';
import type { DueRows } from '@parley/persistence/due-rows';
import { PendingEventsRepository, type PendingRow } from '../announcements/pending-events.repository';
import type { EventEntity } from './event.entity';
import type { ConversationWithCount } from '../conversations/conversation.entity';
import type { MessageEntity } from '../messages/message.entity';
import type { UserEntity } from '../users/user.entity';

/** Omitted fields are null. The status is `scheduled` with a due time and `pending` without one. */
export type NewEvent = Pick<EventEntity, 'bot_id' | 'type' | 'payload'> &
  Partial<Omit<EventEntity, 'id' | 'created_at' | 'failure_reason'>>;

export type Reference = 'conversationId' | 'userId' | 'messageId' | 'workflowId';
export type References = Partial<Record<Reference, string>>;

const absences: Record<Reference, string> = {
  conversationId: `$3::text IS NOT NULL AND NOT EXISTS (
    SELECT FROM conversation c WHERE c.bot_id = $1 AND c.id = $3 AND ${isOf('$2', 'c')})`,
  userId: `$4::text IS NOT NULL AND $4 <> $1 AND NOT EXISTS (
    SELECT FROM "user" u WHERE u.bot_id = $1 AND u.id = $4 AND ${isOf('$2', 'u')})`,
  messageId: `$5::text IS NOT NULL AND NOT EXISTS (
    SELECT FROM (
      SELECT conversation_id FROM message WHERE bot_id = $1 AND id = $5
      UNION ALL SELECT conversation_id FROM scheduled_message WHERE bot_id = $1 AND id = $5) m
    JOIN conversation c ON c.bot_id = $1 AND c.id = m.conversation_id
    WHERE ${isOf('$2', 'c')})`,
  workflowId: `$6::text IS NOT NULL AND NOT EXISTS (
    SELECT FROM workflow w WHERE w.bot_id = $1 AND w.id = $6 AND ${isOf('$2', 'w')})`,
};
const findAbsences = `SELECT ${Object.entries(absences)
  .map(([field, sql]) => `${sql} AS "${field}"`)
  .join(', ')}`;

/** A caller who may delete a scheduled message may cancel its event. */
const isOwnMessage = `payload IS NULL AND EXISTS (
  SELECT FROM conversation WHERE bot_id = $1 AND id = event.conversation_id AND (integration_alias = $2) IS TRUE)`;

/** Those of scheduled messages have no payload. Index event_due. */
export const scheduledEvents: DueRows = { table: 'event', where: `status = 'scheduled' AND payload IS NOT NULL` };

type Found<Row> = Map<string, Row>;

export interface MessageParts {
  messages: Found<MessageEntity>;
  users: Found<UserEntity>;
  conversations: Found<ConversationWithCount>;
}

const messageColumns = `bot_id, id, conversation_id, user_id, type, payload, tags, direction, origin, created_at, updated_at`;

@Injectable()
export class EventsRepository {
  constructor(
    private readonly database: Database,
    private readonly bounded: BoundedReadsService,
    private readonly pending: PendingEventsRepository,
  ) {}

  /** Also announces the pending ones. */
  async insertEvents(tx: Transaction, events: NewEvent[]): Promise<EventEntity[]> {
    const rows = events.map(toRow);
    await tx.query(
      `INSERT INTO event (bot_id, id, type, payload, integration_alias, conversation_id, user_id, message_id, workflow_id,
         recurring_name, status, due_at, created_at)
       SELECT bot_id, id, type, payload, integration_alias, conversation_id, user_id, message_id, workflow_id,
         recurring_name, status, due_at, created_at
       FROM jsonb_populate_recordset(NULL::event, $1)`,
      [toJsonb(rows)],
    );
    await this.pending.announceEvents(
      tx,
      rows.filter(({ status }) => status === 'pending'),
    );
    return rows;
  }

  /** First reference that is not found or not visible to the caller. Indexes: the primary keys. */
  async findMissingReference(
    sql: Sql,
    { botId, alias }: Scope,
    references: References,
  ): Promise<Reference | undefined> {
    const { conversationId, userId, messageId, workflowId } = references;
    const ids = [conversationId, userId, messageId, workflowId];
    if (ids.every((id) => id === undefined)) return undefined;
    const [absent] = await sql.query<Record<Reference, boolean>>(findAbsences, [botId, alias, ...ids]);
    return (Object.keys(absences) as Reference[]).find((field) => absent![field]);
  }

  async findEventById({ botId, alias }: Scope, id: string): Promise<EventEntity | undefined> {
    const [row] = await this.database.query<EventEntity>(
      `SELECT * FROM event WHERE bot_id = $1 AND ${isOf('$2')} AND id = $3`,
      [botId, alias, id],
    );
    return row;
  }

  /** Each filter has an index in list order: event_type, event_status, event_conversation and so on. */
  async listEvents({ botId, alias }: Scope, query: ListEvents): Promise<{ rows: EventEntity[]; nextToken?: string }> {
    const { type, conversationId, userId, messageId, workflowId, status } = query;
    const filters = {
      integration_alias: alias ?? undefined,
      type,
      conversation_id: conversationId,
      user_id: userId,
      message_id: messageId,
      workflow_id: workflowId,
      status,
    };
    const limit = pageSize(query);
    const boundTo = [botId, filters];
    const values: unknown[] = [botId];
    const given = givenColumns(filters, values);
    const isServed = given.length <= 1;
    // Event ids begin with the creation time.
    const newestFirst = new Keyset<EventEntity>(
      [{ sql: 'id', type: 'text', of: ({ id }) => id }],
      'desc',
      isServed ? given[0] : undefined,
    );
    const conditions = isServed ? [] : given.map(toEquality);
    const page = `SELECT * FROM event
      WHERE ${['bot_id = $1', ...conditions, newestFirst.after(query.nextToken, boundTo, values)].join(' AND ')}
      ORDER BY ${newestFirst.orderBy} LIMIT ${limit + 1}`;
    const rows = isServed
      ? await this.database.query<EventEntity>(page, values)
      : await this.bounded.read<EventEntity>(page, values, 'Use fewer filters, or one that few events match.');
    return newestFirst.page(rows, limit, boundTo);
  }

  /**
   * False if the event is not scheduled or not found. Also deletes its scheduled message. Lock order: the event first,
   * as in the worker that writes due messages.
   */
  async cancelScheduledEvent({ botId, alias }: Scope, id: string): Promise<boolean> {
    const rows = await this.database.query(
      `WITH canceled AS (
         UPDATE event SET status = 'canceled', due_at = least(due_at, now())
         WHERE bot_id = $1 AND id = $3 AND status = 'scheduled' AND (${inScope} OR ${isOwnMessage})
         RETURNING message_id, payload),
       gone AS (
         DELETE FROM scheduled_message USING canceled
         WHERE bot_id = $1 AND id = canceled.message_id AND canceled.payload IS NULL)
       SELECT 1 FROM canceled`,
      [botId, alias, id],
    );
    return rows.length > 0;
  }

  /**
   * Makes at most `limit` due events `pending`, announces them and returns their number. Events of scheduled messages,
   * which have no payload, are released by ScheduledMessagesService. Indexes: event_due, then the primary key.
   */
  async releaseDueEvents(tx: Transaction, limit: number): Promise<number> {
    const rows = await tx.query<PendingRow>(
      `WITH due AS MATERIALIZED (
         ${lockNext({
           table: 'event',
           columns: 'bot_id, id',
           where: `${scheduledEvents.where} AND due_at <= now()`,
           orderBy: 'due_at',
           limit: '$1',
         })}),
       released AS (
         UPDATE event SET status = 'pending' FROM due
         WHERE event.bot_id = due.bot_id AND event.id = due.id
         RETURNING event.bot_id, event.id, type, conversation_id, user_id, workflow_id, due_at)
       SELECT bot_id, id, type, conversation_id, user_id, workflow_id FROM released ORDER BY due_at, id`,
      [limit],
    );
    await this.pending.announceEvents(tx, rows);
    return rows.length;
  }

  /** Messages, including scheduled ones, users and conversations that the events refer to. Indexes: the primary keys. */
  async findPartsOfEvents(botId: string, events: EventEntity[]): Promise<MessageParts> {
    const idsOf = (column: 'message_id' | 'user_id' | 'conversation_id') => [
      ...new Set(events.map((event) => event[column])),
    ];
    const messages = await this.database.query<MessageEntity>(
      `SELECT ${messageColumns} FROM message WHERE bot_id = $1 AND id = ANY ($2)
       UNION ALL SELECT ${messageColumns} FROM scheduled_message WHERE bot_id = $1 AND id = ANY ($2)`,
      [botId, idsOf('message_id')],
    );
    const users = await this.database.query<UserEntity>('SELECT * FROM "user" WHERE bot_id = $1 AND id = ANY ($2)', [
      botId,
      idsOf('user_id'),
    ]);
    const conversations = await this.database.query<ConversationWithCount>(
      `SELECT conversation.*, coalesce(message_count, 0) AS message_count
       FROM conversation LEFT JOIN conversation_clock clock ON clock.bot_id = $1 AND clock.conversation_id = id
       WHERE conversation.bot_id = $1 AND id = ANY ($2)`,
      [botId, idsOf('conversation_id')],
    );
    return { messages: byId(messages), users: byId(users), conversations: byId(conversations) };
  }
}

function toRow(event: NewEvent): EventEntity {
  const id = newId('evt');
  return {
    integration_alias: null,
    conversation_id: null,
    user_id: null,
    message_id: null,
    workflow_id: null,
    recurring_name: null,
    due_at: null,
    status: event.due_at ? 'scheduled' : 'pending',
    failure_reason: null,
    replays: 0,
    ...event,
    id,
    created_at: timeOfId(id),
  };
}

function byId<Row extends { id: string }>(rows: Row[]): Found<Row> {
  return new Map(rows.map((row) => [row.id, row]));
}
