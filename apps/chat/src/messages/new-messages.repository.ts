import { Injectable } from '@nestjs/common';
import { eventsPending } from '@parley/contracts/chat/deliveries';
import type { Direction } from '@parley/contracts/chat/messages';
import { insertEventsOf, Outbox } from '@parley/events/outbox';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { newId, timeOfId } from '@parley/persistence/ids';
import { toJsonb } from '@parley/persistence/storable';
import { tagRowsOf } from '../tags/tags.repository';
import { isCalled } from '../announcements/pending-events.repository';
import type { MessageEntity, ScheduledMessageEntity } from './message.entity';

export interface Draft {
  id: string;
  conversation_id: string;
  user_id: string;
  type: string;
  payload: Record<string, unknown>;
  tags: Record<string, string>;
  origin?: 'synthetic';
  /**
   * Alias of the calling installation: the conversation must belong to it, and the author must be its user or a
   * participant.
   */
  alias?: string;
  /** If true, the author must be a participant already; otherwise writing makes the author one. */
  is_for_participant?: boolean;
}

/** Draft of a new message; one of a user also creates an event. */
export interface NewDraft extends Draft {
  event_id?: string;
  /** Trace of the request, which the delivery of the event continues. */
  traceparent?: string;
}

export interface ImportedDraft extends Draft {
  created_at: string;
}

export interface ScheduledDraft extends Draft {
  event_id: string;
  due_at: string;
}

export interface WrittenMessage extends MessageEntity {
  /** Number of the last signal, `message_created`; null outside the native chat, where there are no signals. */
  signal: number | null;
  /** True if `message_stream_complete` precedes it. */
  ends_stream: boolean;
  /** True if `participant_added` is the first of its signals. */
  is_joining: boolean;
  conversation_foreign_id: string | null;
  user_foreign_id: string | null;
  /** True if events of its statement were announced. */
  is_announced: boolean;
}

export type Obstacle = 'conversation' | 'user' | 'participation';

/** Prepared statement if it has a name. */
interface Statement {
  text: string;
  name?: string;
}

interface WrittenRow {
  ordinal: number;
  direction: Direction;
  created_at: Date;
  signal: string | null;
  ends_stream: boolean;
  is_joining: boolean;
  conversation_foreign_id: string | null;
  user_foreign_id: string | null;
  is_announced: boolean;
}

const drafts = `
  SELECT * FROM ROWS FROM (jsonb_to_recordset($2::jsonb) AS (
    id text, conversation_id text, user_id text, type text, payload jsonb, tags jsonb, origin text, alias text,
    is_for_participant boolean, event_id text, event_at timestamptz, outbox_id text, traceparent text,
    due_at timestamptz, created_at timestamptz))
  WITH ORDINALITY AS draft (id, conversation_id, user_id, type, payload, tags, origin, alias,
    is_for_participant, event_id, event_at, outbox_id, traceparent, due_at, created_at, ordinal)`;

/**
 * Drafts whose conversation and author exist and are allowed; others are left out. Indexes: the primary keys. Each OFFSET 0 keeps a
 * lookup by key: as a join, a plan that is kept for any bot reads all rows of the bot.
 */
const possibleDrafts = `
  SELECT $1::text AS bot_id, draft.*, is_chat, conversation.foreign_id AS conversation_foreign_id,
    author.foreign_id AS user_foreign_id, CASE WHEN draft.user_id = $1 THEN 'outgoing' ELSE 'incoming' END AS direction,
    draft.user_id <> $1 AND participant.user_id IS NULL AS is_newcomer, seen.removals
  FROM (${drafts}) draft
  CROSS JOIN LATERAL (
    SELECT is_chat, foreign_id FROM conversation
    WHERE bot_id = $1 AND id = draft.conversation_id AND (alias IS NULL OR integration_alias = alias) OFFSET 0) conversation
  CROSS JOIN LATERAL (
    SELECT removals FROM conversation_clock
    WHERE bot_id = $1 AND conversation_id = draft.conversation_id OFFSET 0) seen
  LEFT JOIN LATERAL (
    SELECT id, foreign_id, integration_alias FROM "user"
    WHERE bot_id = $1 AND id = draft.user_id OFFSET 0) author ON true
  LEFT JOIN LATERAL (
    SELECT user_id FROM participant
    WHERE bot_id = $1 AND conversation_id = draft.conversation_id AND user_id = draft.user_id OFFSET 0) participant ON true
  WHERE (author.id IS NOT NULL OR draft.user_id = $1)
    AND (participant.user_id IS NOT NULL OR (is_for_participant IS NOT TRUE
      AND (alias IS NULL OR draft.user_id = $1 OR author.integration_alias = alias)))`;

/**
 * Common table expressions with the locks. Lock order: first the clocks of all conversations by id, then the new
 * participants by id, so that statements cannot deadlock and nobody is deleted meanwhile; deleting a user takes the
 * same order. `able`: drafts to write, without those of a conversation where `removals` changed while this waited for
 * its lock, since the author may have been removed. `joined`: authors who become participants.
 */
const heldDrafts = `
  possible AS MATERIALIZED (${possibleDrafts}),
  held AS (
    SELECT conversation_id
    FROM (SELECT DISTINCT conversation_id, removals FROM possible ORDER BY conversation_id) asked
    CROSS JOIN LATERAL (
      SELECT FROM conversation_clock clock
      WHERE bot_id = $1 AND clock.conversation_id = asked.conversation_id AND clock.removals = asked.removals
      FOR NO KEY UPDATE) clock),
  newcomer AS (
    SELECT id
    FROM (SELECT DISTINCT user_id FROM possible JOIN held USING (conversation_id) WHERE is_newcomer ORDER BY user_id) coming
    CROSS JOIN LATERAL (SELECT id FROM "user" WHERE bot_id = $1 AND id = coming.user_id FOR KEY SHARE) author),
  able AS MATERIALIZED (
    SELECT possible.*, row_number() OVER (PARTITION BY conversation_id ORDER BY ordinal) AS turn
    FROM possible JOIN held USING (conversation_id)
    WHERE NOT is_newcomer OR user_id IN (SELECT id FROM newcomer)),
  joined AS (
    INSERT INTO participant (bot_id, conversation_id, user_id)
    SELECT DISTINCT bot_id, conversation_id, user_id FROM able WHERE is_newcomer
    ON CONFLICT DO NOTHING RETURNING conversation_id, user_id)`;

const isForBot = `direction = 'incoming' AND event_id IS NOT NULL`;

const stored = `
  INSERT INTO message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, origin, created_at, updated_at)
  SELECT bot_id, id, conversation_id, user_id, type, payload, tags, direction, origin, created_at, created_at FROM written`;

/** Announces the events of the written messages, if the bot is called: one row, and one for each further trace. */
const announced = insertEventsOf(
  eventsPending,
  `SELECT min(outbox_id), jsonb_build_object('botId', $1::text, 'events', jsonb_agg(jsonb_build_object('id', event_id,
     'type', 'message_created', 'conversationId', conversation_id, 'userId', user_id) ORDER BY ordinal)), traceparent
   FROM written WHERE ${isForBot} AND ${isCalled('$1')} GROUP BY traceparent`,
);

/**
 * The clock is updated under its lock, so its values are current even if they are newer than the snapshot of the
 * statement. The row of each clock exists: ON CONFLICT finds it by key with every plan, which UPDATE … FROM does not.
 */
const insertStatement: Statement = {
  // Named, since planning takes some 2.5 ms and execution with one message about 0.5 ms.
  name: 'insertMessages',
  text: `
  WITH ${heldDrafts},
  flagged AS (
    SELECT able.*, direction = 'outgoing' AND coalesce(jsonb_typeof(payload #> '{metadata,streamId}') = 'string', false) AS ends_stream,
      joined.user_id IS NOT NULL
        AND row_number() OVER (PARTITION BY conversation_id, user_id ORDER BY ordinal) = 1 AS is_joining
    FROM able LEFT JOIN joined USING (conversation_id, user_id)),
  numbered AS MATERIALIZED (
    SELECT flagged.*, sum(CASE WHEN is_chat THEN 1 + ends_stream::int + is_joining::int END)
      OVER (PARTITION BY conversation_id ORDER BY ordinal) AS signal_turn
    FROM flagged),
  asked AS (
    SELECT conversation_id, count(*)::int AS messages, coalesce(max(signal_turn), 0) AS signals
    FROM numbered GROUP BY conversation_id),
  ticked AS (
    INSERT INTO conversation_clock AS clock (bot_id, conversation_id, message_count, signal_count)
    SELECT $1, conversation_id, messages, signals FROM asked
    ON CONFLICT (bot_id, conversation_id) DO UPDATE SET
      last_message_at = greatest(date_trunc('milliseconds', clock_timestamp()), clock.last_message_at + interval '1 ms')
        + (excluded.message_count - 1) * interval '1 ms',
      message_count = clock.message_count + excluded.message_count,
      signal_count = clock.signal_count + excluded.signal_count
    RETURNING conversation_id, last_message_at, signal_count),
  written AS MATERIALIZED (
    SELECT bot_id, id, conversation_id, user_id, type, payload, tags, direction, origin, event_id, event_at, outbox_id,
      traceparent, ordinal, conversation_foreign_id, user_foreign_id,
      last_message_at + (turn - messages) * interval '1 ms' AS created_at,
      signal_count - signals + signal_turn AS signal, ends_stream, is_joining
    FROM numbered JOIN ticked USING (conversation_id) JOIN asked USING (conversation_id)),
  stored AS (${stored}),
  tagged AS (${tagRowsOf('message', 'written')}),
  received AS (
    INSERT INTO event (bot_id, id, type, conversation_id, user_id, message_id, status, created_at)
    SELECT bot_id, event_id, 'message_created', conversation_id, user_id, id, 'pending', event_at FROM written
    WHERE ${isForBot}),
  announced AS (${announced} RETURNING 1),
  signalled AS (
    INSERT INTO signal (bot_id, conversation_id, number, type, message_id, data)
    SELECT bot_id, conversation_id, number, entry.type, message_id, data FROM written, LATERAL (VALUES
      (signal - 1 - ends_stream::int, 'participant_added', NULL, jsonb_build_object(
        'conversationId', coalesce(conversation_foreign_id, conversation_id),
        'participantId', coalesce(user_foreign_id, user_id)), is_joining),
      (signal - 1, 'message_stream_complete', id, NULL, ends_stream),
      (signal, 'message_created', id, NULL, true)) AS entry (number, type, message_id, data, is_told)
    WHERE signal IS NOT NULL AND is_told)
  SELECT ordinal::int, direction, created_at, signal, ends_stream, is_joining, conversation_foreign_id, user_foreign_id,
    EXISTS (SELECT FROM announced) AS is_announced
  FROM written`,
};

/** Moves the clock forward, so that the next message comes after the imported ones. */
const importStatement: Statement = {
  text: `
  WITH ${heldDrafts},
  asked AS (
    SELECT conversation_id, count(*)::int AS messages, max(created_at) AS last_at FROM able GROUP BY conversation_id),
  ticked AS (
    INSERT INTO conversation_clock AS clock (bot_id, conversation_id, last_message_at, message_count)
    SELECT $1, conversation_id, last_at, messages FROM asked
    ON CONFLICT (bot_id, conversation_id) DO UPDATE SET
      last_message_at = greatest(clock.last_message_at, excluded.last_message_at),
      message_count = clock.message_count + excluded.message_count
    RETURNING conversation_id),
  written AS MATERIALIZED (SELECT able.* FROM able JOIN ticked USING (conversation_id)),
  stored AS (${stored}),
  tagged AS (${tagRowsOf('message', 'written')})
  SELECT ordinal::int, direction, created_at, NULL AS signal, false AS ends_stream, false AS is_joining,
    conversation_foreign_id, user_foreign_id, false AS is_announced
  FROM written`,
};

/** Inserts a scheduled message. Its author becomes a participant only when the message is written. */
const scheduleStatement = `
  WITH written AS (
    INSERT INTO scheduled_message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, origin, due_at,
      created_at, updated_at)
    SELECT bot_id, id, conversation_id, user_id, type, payload, tags, direction, origin, due_at, event_at, event_at
    FROM (${possibleDrafts}) possible RETURNING *),
  announced AS (
    INSERT INTO event (bot_id, id, type, conversation_id, user_id, message_id, status, due_at, created_at)
    SELECT bot_id, $3, 'message_created', conversation_id, user_id, id, 'scheduled', due_at, created_at FROM written)
  SELECT * FROM written`;

@Injectable()
export class NewMessagesRepository {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
  ) {}

  /**
   * Writes all messages in one statement with its own commit; undefined for a draft with an obstacle, which may be gone
   * by now. Within a conversation the input order is kept, and later commits have later creation times.
   */
  async insertInOneCommit(botId: string, messages: NewDraft[]): Promise<(WrittenMessage | undefined)[]> {
    const written = await this.execute(this.database, insertStatement, botId, messages);
    if (written.some((message) => message?.is_announced)) this.outbox.wake();
    return written;
  }

  /** Writes in the caller's transaction; undefined only for a draft whose obstacle remains. */
  async insertInTransaction(
    tx: Transaction,
    botId: string,
    messages: NewDraft[],
  ): Promise<(WrittenMessage | undefined)[]> {
    const written = await this.executeWithRetry(tx, insertStatement, botId, messages);
    if (written.some((message) => message?.is_announced)) tx.afterCommit(() => this.outbox.wake());
    return written;
  }

  /** Like `insertInTransaction`, with given creation times and without signals and events. */
  importInTransaction(
    tx: Transaction,
    botId: string,
    messages: ImportedDraft[],
  ): Promise<(WrittenMessage | undefined)[]> {
    return this.executeWithRetry(tx, importStatement, botId, messages);
  }

  /** Creates a scheduled message and its event. Undefined if there is an obstacle. */
  async insertScheduledMessage(
    sql: Sql,
    botId: string,
    message: ScheduledDraft,
  ): Promise<ScheduledMessageEntity | undefined> {
    const [row] = await sql.query<ScheduledMessageEntity>(scheduleStatement, [
      botId,
      draftsText([message]),
      message.event_id,
    ]);
    return row;
  }

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
   * Retries skipped drafts once: a draft is also skipped if somebody else was removed from the conversation while it
   * waited for the lock.
   */
  private async executeWithRetry(tx: Transaction, statement: Statement, botId: string, messages: Draft[]) {
    const written = await this.execute(tx, statement, botId, messages);
    const missing = messages.flatMap((_, index) => (written[index] ? [] : [index]));
    if (missing.length === 0) return written;
    const again = missing.map((index) => messages[index]!);
    const late = await this.execute(tx, statement, botId, again);
    missing.forEach((index, position) => (written[index] = late[position]));
    return written;
  }

  private async execute(sql: Sql, { text, name }: Statement, botId: string, messages: Draft[]) {
    const rows = await sql.query<WrittenRow>(text, [botId, draftsText(messages)], name);
    const written: (WrittenMessage | undefined)[] = messages.map(() => undefined);
    for (const { ordinal, signal, ...rest } of rows) {
      const { id, conversation_id, user_id, type, payload, tags, origin = null } = messages[ordinal - 1]!;
      const own = { bot_id: botId, id, conversation_id, user_id, type, payload, tags, origin };
      const updated_at = rest.created_at;
      written[ordinal - 1] = Object.assign(own, rest, { updated_at, signal: signal === null ? null : Number(signal) });
    }
    return written;
  }
}

/** Creation times of events are derived from their ids. */
function draftsText(messages: (Draft & { event_id?: string })[]): string {
  return toJsonb(
    messages.map((draft) =>
      draft.event_id === undefined
        ? draft
        : { event_at: timeOfId(draft.event_id), outbox_id: newId('outbox'), ...draft },
    ),
  );
}
