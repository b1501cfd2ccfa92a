import { Injectable } from '@nestjs/common';
import type { Direction } from '@parley/contracts/chat/messages';
import { Database, type Sql, type Transaction } from '@parley/database/database';
import { timeOfId } from '@parley/database/ids';
import { toJsonb } from '@parley/database/storable';
import { tagRowsOf } from '../tags/tags.repository';
import type { MessageRow, ScheduledMessageRow } from './message.entity';

/** A message that is to be written, of a bot that goes without saying. */
export interface Draft {
  id: string;
  conversation_id: string;
  user_id: string;
  type: string;
  payload: Record<string, unknown>;
  tags: Record<string, string>;
  origin?: 'synthetic';
  /** The conversation must be one of this installation, and whoever writes a user of it or a participant. */
  alias?: string;
  /** Whoever writes it must take part already; otherwise writing makes a participant. */
  is_for_participant?: boolean;
}

/** What a message becomes that is new: with an event when a user wrote it. */
export interface NewDraft extends Draft {
  /** Absent when the event is there already. */
  event_id?: string;
}

export interface ImportedDraft extends Draft {
  created_at: string;
}

export interface ScheduledDraft extends Draft {
  event_id: string;
  due_at: string;
}

/** A message with what its signals show. */
export interface WrittenMessage extends MessageRow {
  /** Number of its last signal, that of the message itself; null in conversations that nobody listens to. */
  signal: number | null;
  /** The signal before says that a stream is complete. */
  ends_stream: boolean;
  /** The first of its signals says that who writes takes part from now on. */
  is_joining: boolean;
  conversation_foreign_id: string | null;
  user_foreign_id: string | null;
}

/** Why a draft cannot become a message. */
export type Obstacle = 'conversation' | 'user' | 'participation';

/** With a name its plan is kept. */
interface Statement {
  text: string;
  name?: string;
}

interface Place {
  place: number;
  direction: Direction;
  created_at: Date;
  signal: string | null;
  ends_stream: boolean;
  is_joining: boolean;
  conversation_foreign_id: string | null;
  user_foreign_id: string | null;
}

/** Drafts in their order. */
const drafts = `
  SELECT * FROM ROWS FROM (jsonb_to_recordset($2::jsonb) AS (
    id text, conversation_id text, user_id text, type text, payload jsonb, tags jsonb, origin text, alias text,
    is_for_participant boolean, event_id text, event_at timestamptz, due_at timestamptz, created_at timestamptz))
  WITH ORDINALITY AS draft (id, conversation_id, user_id, type, payload, tags, origin, alias,
    is_for_participant, event_id, event_at, due_at, created_at, place)`;

/** By the primary keys. A draft whose conversation or user is not there, or not for who asks, does not come back. */
const possibleDrafts = `
  SELECT $1::text AS bot_id, draft.*, is_chat, conversation.foreign_id AS conversation_foreign_id,
    author.foreign_id AS user_foreign_id, CASE WHEN draft.user_id = $1 THEN 'outgoing' ELSE 'incoming' END AS direction,
    draft.user_id <> $1 AND participant.user_id IS NULL AS is_newcomer, seen.removals
  FROM (${drafts}) draft
  JOIN conversation ON conversation.bot_id = $1 AND conversation.id = draft.conversation_id
  JOIN conversation_clock seen ON seen.bot_id = $1 AND seen.conversation_id = draft.conversation_id
  LEFT JOIN "user" author ON author.bot_id = $1 AND author.id = draft.user_id
  LEFT JOIN participant ON participant.bot_id = $1 AND participant.conversation_id = draft.conversation_id
    AND participant.user_id = draft.user_id
  WHERE (author.id IS NOT NULL OR draft.user_id = $1)
    AND (alias IS NULL OR conversation.integration_alias = alias)
    AND (participant.user_id IS NOT NULL OR (is_for_participant IS NOT TRUE
      AND (alias IS NULL OR draft.user_id = $1 OR author.integration_alias = alias)))`;

/**
 * Common table expressions: locks the clocks of all conversations in one order, so that two statements never wait for each
 * other in a circle, then those who are about to take part, so that nobody is deleted meanwhile. Who deletes a user takes
 * the locks in the same order. `able` is what can be written: nothing of a conversation from which somebody was taken out
 * while this waited for its lock, since that may be who writes. Whoever writes takes part: `joined` did not before.
 */
const heldDrafts = `
  possible AS MATERIALIZED (${possibleDrafts}),
  held AS (
    SELECT conversation_id FROM conversation_clock clock
    JOIN (SELECT DISTINCT conversation_id, removals FROM possible) asked USING (conversation_id)
    WHERE clock.bot_id = $1 AND clock.removals = asked.removals ORDER BY conversation_id FOR NO KEY UPDATE OF clock),
  newcomer AS (
    SELECT id FROM "user"
    JOIN (SELECT DISTINCT user_id FROM possible JOIN held USING (conversation_id) WHERE is_newcomer) coming ON user_id = id
    WHERE bot_id = $1 ORDER BY id FOR KEY SHARE OF "user"),
  able AS MATERIALIZED (
    SELECT possible.*, row_number() OVER (PARTITION BY conversation_id ORDER BY place) AS turn
    FROM possible JOIN held USING (conversation_id)
    WHERE NOT is_newcomer OR user_id IN (SELECT id FROM newcomer)),
  joined AS (
    INSERT INTO participant (bot_id, conversation_id, user_id)
    SELECT DISTINCT bot_id, conversation_id, user_id FROM able WHERE is_newcomer
    ON CONFLICT DO NOTHING RETURNING conversation_id, user_id)`;

const stored = `
  INSERT INTO message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, origin, created_at, updated_at)
  SELECT bot_id, id, conversation_id, user_id, type, payload, tags, direction, origin, created_at, created_at FROM written`;

/** Clocks are changed when they are ours: what they say then is the newest, whatever the statement saw when it began. */
const insertMessages: Statement = {
  // Planning it takes some 2.5 ms, running it with one message half of one.
  name: 'insertMessages',
  text: `
  WITH ${heldDrafts},
  told AS (
    SELECT able.*, direction = 'outgoing' AND coalesce(jsonb_typeof(payload #> '{metadata,streamId}') = 'string', false) AS ends_stream,
      joined.user_id IS NOT NULL
        AND row_number() OVER (PARTITION BY conversation_id, user_id ORDER BY place) = 1 AS is_joining
    FROM able LEFT JOIN joined USING (conversation_id, user_id)),
  numbered AS MATERIALIZED (
    SELECT told.*, sum(CASE WHEN is_chat THEN 1 + ends_stream::int + is_joining::int END)
      OVER (PARTITION BY conversation_id ORDER BY place) AS signal_turn
    FROM told),
  asked AS (
    SELECT conversation_id, count(*)::int AS messages, coalesce(max(signal_turn), 0) AS signals
    FROM numbered GROUP BY conversation_id),
  ticked AS (
    UPDATE conversation_clock clock SET
      last_message_at = greatest(date_trunc('milliseconds', clock_timestamp()), last_message_at + interval '1 ms')
        + (messages - 1) * interval '1 ms',
      message_count = message_count + messages,
      signal_count = signal_count + signals
    FROM asked WHERE clock.bot_id = $1 AND clock.conversation_id = asked.conversation_id
    RETURNING clock.conversation_id, last_message_at - messages * interval '1 ms' AS before,
      signal_count - signals AS signals_before),
  written AS MATERIALIZED (
    SELECT bot_id, id, conversation_id, user_id, type, payload, tags, direction, origin, event_id, event_at, place,
      conversation_foreign_id, user_foreign_id, before + turn * interval '1 ms' AS created_at,
      signals_before + signal_turn AS signal, ends_stream, is_joining
    FROM numbered JOIN ticked USING (conversation_id)),
  stored AS (${stored}),
  tagged AS (${tagRowsOf('message', 'written')}),
  announced AS (
    INSERT INTO event (bot_id, id, type, conversation_id, user_id, message_id, status, created_at)
    SELECT bot_id, event_id, 'message_created', conversation_id, user_id, id, 'pending', event_at FROM written
    WHERE direction = 'incoming' AND event_id IS NOT NULL),
  signalled AS (
    INSERT INTO signal (bot_id, conversation_id, number, type, message_id, data)
    SELECT bot_id, conversation_id, number, told.type, message_id, data FROM written, LATERAL (VALUES
      (signal - 1 - ends_stream::int, 'participant_added', NULL, jsonb_build_object(
        'conversationId', coalesce(conversation_foreign_id, conversation_id),
        'participantId', coalesce(user_foreign_id, user_id)), is_joining),
      (signal - 1, 'message_stream_complete', id, NULL, ends_stream),
      (signal, 'message_created', id, NULL, true)) AS told (number, type, message_id, data, is_told)
    WHERE signal IS NOT NULL AND is_told)
  SELECT place::int, direction, created_at, signal, ends_stream, is_joining, conversation_foreign_id, user_foreign_id
  FROM written`,
};

/** The next message comes after all that were imported. */
const importMessages: Statement = {
  text: `
  WITH ${heldDrafts},
  asked AS (
    SELECT conversation_id, count(*)::int AS messages, max(created_at) AS last_at FROM able GROUP BY conversation_id),
  ticked AS (
    UPDATE conversation_clock clock
    SET last_message_at = greatest(last_message_at, last_at), message_count = message_count + messages
    FROM asked WHERE clock.bot_id = $1 AND clock.conversation_id = asked.conversation_id
    RETURNING clock.conversation_id),
  written AS MATERIALIZED (SELECT able.* FROM able JOIN ticked USING (conversation_id)),
  stored AS (${stored}),
  tagged AS (${tagRowsOf('message', 'written')})
  SELECT place::int, direction, created_at, NULL AS signal, false AS ends_stream, false AS is_joining,
    conversation_foreign_id, user_foreign_id
  FROM written`,
};

/** Who writes later takes part later. */
const scheduleMessage = `
  WITH written AS (
    INSERT INTO scheduled_message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, origin, due_at,
      created_at, updated_at)
    SELECT bot_id, id, conversation_id, user_id, type, payload, tags, direction, origin, due_at, event_at, event_at
    FROM (${possibleDrafts}) possible RETURNING *),
  announced AS (
    INSERT INTO event (bot_id, id, type, conversation_id, user_id, message_id, status, due_at, created_at)
    SELECT bot_id, $3, 'message_created', conversation_id, user_id, id, 'scheduled', due_at, created_at FROM written)
  SELECT * FROM written`;

/** Writes messages, each into a conversation that is there and by somebody who is there. */
@Injectable()
export class NewMessagesRepository {
  constructor(private readonly database: Database) {}

  /**
   * One statement, committed by itself, for them all; a place is empty where there was an obstacle, which may be gone by
   * now. They are in their order in each conversation, and the later they are committed the later they were created.
   */
  insertTogether(botId: string, messages: NewDraft[]): Promise<(WrittenMessage | undefined)[]> {
    return this.write(this.database, insertMessages, botId, messages);
  }

  /** The same in a transaction, where a place is empty only when the obstacle stays. */
  insert(tx: Transaction, botId: string, messages: NewDraft[]): Promise<(WrittenMessage | undefined)[]> {
    return this.writeLasting(tx, insertMessages, botId, messages);
  }

  /** The same with the times that they bring, and without telling anybody. */
  import(tx: Transaction, botId: string, messages: ImportedDraft[]): Promise<(WrittenMessage | undefined)[]> {
    return this.writeLasting(tx, importMessages, botId, messages);
  }

  /** With its event. Undefined when there was an obstacle. */
  async schedule(sql: Sql, botId: string, message: ScheduledDraft): Promise<ScheduledMessageRow | undefined> {
    const [row] = await sql.query<ScheduledMessageRow>(scheduleMessage, [
      botId,
      draftsText([message]),
      message.event_id,
    ]);
    return row;
  }

  /** What kept it from being written. */
  async findObstacle(
    botId: string,
    { conversation_id, user_id, alias }: Draft,
    sql: Sql = this.database,
  ): Promise<Obstacle> {
    const [row] = await sql.query<{ conversation: boolean; user: boolean }>(
      `SELECT EXISTS (
           SELECT FROM conversation WHERE bot_id = $1 AND id = $2 AND ($4::text IS NULL OR integration_alias = $4)
         ) AS conversation,
         $3 = $1 OR EXISTS (
           SELECT FROM "user" WHERE bot_id = $1 AND id = $3 AND ($4::text IS NULL OR integration_alias = $4)
         ) AS user`,
      [botId, conversation_id, user_id, alias ?? null],
    );
    if (!row!.conversation) return 'conversation';
    return row!.user ? 'participation' : 'user';
  }

  /**
   * What was not written is tried once more, as things are then: it may have waited for its conversation while somebody
   * else was taken out of it.
   */
  private async writeLasting(tx: Transaction, statement: Statement, botId: string, messages: Draft[]) {
    const written = await this.write(tx, statement, botId, messages);
    const missing = messages.flatMap((_, place) => (written[place] ? [] : [place]));
    if (missing.length === 0) return written;
    const again = missing.map((place) => messages[place]!);
    const late = await this.write(tx, statement, botId, again);
    missing.forEach((place, index) => (written[place] = late[index]));
    return written;
  }

  private async write(sql: Sql, { text, name }: Statement, botId: string, messages: Draft[]) {
    const places = await sql.query<Place>(text, [botId, draftsText(messages)], name);
    const written: (WrittenMessage | undefined)[] = messages.map(() => undefined);
    for (const { place, signal, ...rest } of places) {
      const { id, conversation_id, user_id, type, payload, tags, origin = null } = messages[place - 1]!;
      const own = { bot_id: botId, id, conversation_id, user_id, type, payload, tags, origin };
      written[place - 1] = {
        ...own,
        ...rest,
        updated_at: rest.created_at,
        signal: signal === null ? null : Number(signal),
      };
    }
    return written;
  }
}

/** The time of an event is that of its id. */
function draftsText(messages: (Draft & { event_id?: string })[]): string {
  return toJsonb(messages.map((draft) => ({ ...draft, event_at: draft.event_id && timeOfId(draft.event_id) })));
}
