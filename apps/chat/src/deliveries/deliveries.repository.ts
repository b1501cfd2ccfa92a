import { Injectable } from '@nestjs/common';
import type { ReplayableStatus } from '@parley/contracts/chat/deliveries';
import type { EventStatus } from '@parley/contracts/chat/events';
import type { SettledEvent } from '@parley/contracts/runtime/deliveries';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { toJsonb } from '@parley/persistence/storable';
import type { ConversationWithCount } from '../conversations/conversation.entity';
import type { EventEntity } from '../events/event.entity';
import type { MessageEntity } from '../messages/message.entity';
import { PendingEventsRepository, type PendingRow } from '../announcements/pending-events.repository';
import type { SettledRecurringEvent } from '../events/recurring-events.service';
import type { UserEntity } from '../users/user.entity';
import type { ProcessedEvent } from '../workflows/workflow-continuations.service';

/** The parts are null for an event with a payload of its own. */
export interface FoundEvent {
  event: EventEntity;
  /** Ids of events that come before this one and are still pending, oldest first. */
  earlier: string[];
  message: MessageEntity | null;
  user: UserEntity | null;
  conversation: ConversationWithCount | null;
}

export type SettledRow = ProcessedEvent & SettledRecurringEvent;

const referenceColumns = 'bot_id, id, type, conversation_id, user_id, workflow_id';

/** How many events are looked at for earlier ones that are still pending: those that several processes wrote at once. */
const maxEarlier = 20;

/** Events of a workflow are in order, else those of a conversation, else those of a user. */
const orders = [
  { column: 'workflow_id', without: '' },
  { column: 'conversation_id', without: 'AND workflow_id IS NULL' },
  { column: 'user_id', without: 'AND workflow_id IS NULL AND conversation_id IS NULL' },
] as const;

/** No event comes before one without any of these, since nothing equals null. */
const noOrder = { column: 'workflow_id', without: '' } as const;

/** Event that was just settled, as `SettledRow`. */
const settledColumns = `bot_id, id, type, status, failure_reason, workflow_id, recurring_name,
  greatest(created_at, due_at) AS pending_at, CASE WHEN type = 'workflow_update' THEN payload ->> 'type' END AS update_type`;

/**
 * Common table expressions: the events that are pending and were not replayed since, locked in the order of their keys.
 * @param more SQL of further columns
 */
const heldEvents = (more = '') => `settled AS MATERIALIZED (
         SELECT DISTINCT ON (bot_id, id) bot_id, id, status, reason, replays
         FROM jsonb_to_recordset($1) AS settled (bot_id text, id text, status text, reason text, replays int)
         ORDER BY bot_id, id, replays DESC),
       held AS MATERIALIZED (
         SELECT found.*, settled.status, reason
         FROM settled CROSS JOIN LATERAL (
           SELECT bot_id, id${more} FROM event
           WHERE event.bot_id = settled.bot_id AND event.id = settled.id AND event.status = 'pending'
             AND event.replays = settled.replays
           LIMIT 1 FOR NO KEY UPDATE) AS found)`;

/** ANY rules out a hash of the table, which a plan made for a small table would keep. */
const settleHeld = `UPDATE event SET status = held.status, failure_reason = held.reason FROM held
         WHERE event.bot_id = ANY (ARRAY[held.bot_id]) AND event.id = ANY (ARRAY[held.id])`;

function settledText(events: SettledEvent[]): string {
  return toJsonb(
    events.map(({ botId, eventId, status, failureReason, replays }) => ({
      ...{ bot_id: botId, id: eventId, status, replays },
      reason: failureReason,
    })),
  );
}

type JsonRow<Row> = Omit<Row, 'created_at' | 'updated_at'> & { created_at: string; updated_at: string };

interface PartsRow {
  message: JsonRow<MessageEntity> | null;
  isWaiting: boolean;
  user: JsonRow<UserEntity> | null;
  conversation: JsonRow<ConversationWithCount> | null;
  earlier: string[];
}

/** Row that arrived as JSON, with its times. */
function dated<Row>(row: JsonRow<Row> | null): Row | null {
  return row && ({ ...row, created_at: new Date(row.created_at), updated_at: new Date(row.updated_at) } as Row);
}

@Injectable()
export class DeliveriesRepository {
  constructor(
    private readonly database: Database,
    private readonly pending: PendingEventsRepository,
  ) {}

  /**
   * Pending event with the objects that its payload is composed of. Undefined as well if its message, user or
   * conversation was deleted. Two statements: planning one that joins all of these tables takes longer than both. LIMIT
   * makes a plan for all partitions as cheap as one for a given bot, so that it is kept. Indexes: the primary keys.
   */
  async findPendingEvent(botId: string, id: string): Promise<FoundEvent | undefined> {
    const [event] = await this.database.query<EventEntity>(
      `SELECT * FROM event WHERE bot_id = $1 AND id = $2 AND status = 'pending' LIMIT 1`,
      [botId, id],
      'findPendingEvent',
    );
    return event && this.withParts(event);
  }

  /**
   * Undefined if an object that the event refers to was deleted. Earlier events: those of its workflow, else its
   * conversation, else its user, among the latest 20. Indexes: primary keys, and event_workflow, event_conversation or
   * event_user. The subquery hides the bot from the planner: it would plan the statement anew each time, to leave out
   * partitions before it runs.
   */
  async withParts(event: EventEntity): Promise<FoundEvent | undefined> {
    const { bot_id: botId, id, message_id, user_id, conversation_id } = event;
    const { column, without } = orders.find(({ column }) => event[column] !== null) ?? noOrder;
    const [row] = await this.database.query<PartsRow>(
      `SELECT to_jsonb(message) AS message, waiting.id IS NOT NULL AS "isWaiting", to_jsonb(author) AS user,
         to_jsonb(conversation) || jsonb_build_object('message_count', coalesce(message_count, 0)) AS conversation,
         ARRAY(SELECT id FROM (
           SELECT id, status FROM event WHERE bot_id = (SELECT $1::text) AND ${column} = $5 AND id < $6 ${without}
           ORDER BY id DESC LIMIT ${maxEarlier}) AS latest
         WHERE status = 'pending' ORDER BY id) AS earlier
       FROM (SELECT) AS one
       LEFT JOIN LATERAL (SELECT * FROM message WHERE bot_id = $1 AND id = $2 LIMIT 1) AS message ON true
       LEFT JOIN scheduled_message waiting ON waiting.bot_id = $1 AND waiting.id = $2
       LEFT JOIN "user" author ON author.bot_id = $1 AND author.id = $3
       LEFT JOIN conversation ON conversation.bot_id = $1 AND conversation.id = $4
       LEFT JOIN conversation_clock clock ON clock.bot_id = $1 AND clock.conversation_id = $4`,
      [botId, message_id, user_id, conversation_id, event[column], id],
      `findPartsOfEvent_${column}`,
    );
    const { isWaiting, earlier } = row!;
    const message = dated<MessageEntity>(row!.message);
    const user = dated<UserEntity>(row!.user);
    const conversation = dated<ConversationWithCount>(row!.conversation);
    const isComposed = event.payload === null;
    // The bot itself may have no user yet.
    const isOfBot = user_id === botId && !isComposed;
    if (message_id !== null && !message && (isComposed || !isWaiting)) return undefined;
    if (user_id !== null && !user && !isOfBot) return undefined;
    if (conversation_id !== null && !conversation) return undefined;
    return isComposed
      ? { event, earlier, message, user, conversation }
      : { event, earlier, message: null, user: null, conversation: null };
  }

  /**
   * Settles those that concern no workflow and no recurring event, in one statement with its own commit. Returns the
   * others. Index: the primary key, and workflow_bound.
   */
  async settleWithoutEffects(events: SettledEvent[]): Promise<SettledEvent[]> {
    if (events.length === 0) return [];
    const others = await this.database.query<{ bot_id: string; id: string }>(
      `WITH ${heldEvents(`, workflow_id IS NOT NULL OR recurring_name IS NOT NULL OR EXISTS (
             SELECT FROM workflow
             WHERE workflow.bot_id = event.bot_id AND workflow.event_id = event.id AND workflow.status = 'in_progress'
           ) AS has_effects`)},
       changed AS (${settleHeld} AND NOT held.has_effects)
       SELECT bot_id, id FROM held WHERE has_effects`,
      [settledText(events)],
      'settleWithoutEffects',
    );
    const keys = new Set(others.map(({ bot_id, id }) => `${bot_id}/${id}`));
    return events.filter(({ botId, eventId }) => keys.has(`${botId}/${eventId}`));
  }

  /**
   * Settles those that are pending and were not replayed since, and returns them, oldest first. Locked in the order of
   * their keys. Index: the primary key.
   */
  async settlePendingEvents(tx: Sql, events: SettledEvent[]): Promise<SettledRow[]> {
    return tx.query<SettledRow>(
      `WITH ${heldEvents()}, changed AS (${settleHeld} RETURNING event.*)
       SELECT ${settledColumns} FROM changed ORDER BY bot_id, id`,
      [settledText(events)],
      'settlePendingEvents',
    );
  }

  /** Also announces the event. False if it has another status, or is not found. */
  async replayEvent(
    tx: Transaction,
    botId: string,
    id: string,
    statuses: readonly ReplayableStatus[],
  ): Promise<boolean> {
    const rows = await tx.query<PendingRow>(
      `UPDATE event SET status = 'pending', failure_reason = NULL, replays = replays + 1
       WHERE bot_id = $1 AND id = $2 AND status = ANY ($3) RETURNING ${referenceColumns}`,
      [botId, id, statuses],
    );
    await this.pending.announceEvents(tx, rows);
    return rows.length > 0;
  }

  /** Oldest first, at most `limit`. Also announces them. Returns the number. Index event_status. */
  async replayEventsWithStatus(
    tx: Transaction,
    botId: string,
    status: ReplayableStatus,
    limit: number,
  ): Promise<number> {
    const rows = await tx.query<PendingRow>(
      `WITH replayed AS (
         UPDATE event SET status = 'pending', failure_reason = NULL, replays = replays + 1
         WHERE bot_id = $1 AND id = ANY (ARRAY(
           SELECT id FROM event WHERE bot_id = $1 AND status = $2 ORDER BY id LIMIT $3 FOR NO KEY UPDATE))
         RETURNING ${referenceColumns})
       SELECT * FROM replayed ORDER BY id`,
      [botId, status, limit],
    );
    await this.pending.announceEvents(tx, rows);
    return rows.length;
  }

  async findStatus(sql: Sql, botId: string, id: string): Promise<EventStatus | undefined> {
    const [row] = await sql.query<{ status: EventStatus }>('SELECT status FROM event WHERE bot_id = $1 AND id = $2', [
      botId,
      id,
    ]);
    return row?.status;
  }
}
