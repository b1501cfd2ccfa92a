import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '@parley/persistence/database';
import { toJsonb } from '@parley/persistence/storable';
import type { Signal, SignalledMessage } from './signal.entity';
import { rotatePartitions } from '@parley/persistence/time-partitions';
import { Every } from '@parley/work-queue/worker';

/** Page size: a client that missed more asks again. */
const maxSignalsAtOnce = 200;
/** Page limit. A single payload may have 128 KB; a page contains at least one signal, however large. */
const maxBytesAtOnce = 1_000_000;

interface NumberedSignal extends Signal {
  number: number;
}

/** For message signals the current message; undefined if it was deleted. */
export interface StoredSignal extends NumberedSignal {
  message?: SignalledMessage;
}

export interface RecentSignals {
  isParticipant: boolean;
  /**
   * Cursor: number of the last signal in `signals` if there are more, otherwise in the conversation; 0 if there is
   * none.
   */
  last: number;
  hasMore: boolean;
  signals: StoredSignal[];
}

interface RecentRow extends SignalledMessage {
  last: string;
  is_participant: boolean;
  /** Null, like all later fields, if there is no signal. */
  number: string | null;
  signal_type: string;
  data: Record<string, unknown> | null;
  closes: string | null;
}

/** Does nothing for conversations outside the native chat and for deleted ones. */
const addSignals = `
  WITH clock AS (
    UPDATE conversation_clock SET signal_count = signal_count + $3
    FROM conversation
    WHERE conversation_clock.bot_id = $1 AND conversation_id = $2
      AND conversation.bot_id = $1 AND conversation.id = $2 AND is_chat
    RETURNING signal_count - $3 AS before)
  INSERT INTO signal (bot_id, conversation_id, number, type, data, closes)
  SELECT $1, $2, before + ordinal, type, data, closes
  FROM clock, ROWS FROM (jsonb_to_recordset($4::jsonb) AS (type text, data jsonb, closes text))
    WITH ORDINALITY AS entry (type, data, closes, ordinal)
  RETURNING number`;

/**
 * Locks all clocks of the user's conversations in the lock order of message writers. Indexes participant_user and the
 * primary keys.
 */
const addParticipantRemoved = `
  WITH held AS (
    SELECT clock.conversation_id, conversation.foreign_id, is_chat FROM conversation_clock clock
    JOIN participant ON participant.bot_id = $1 AND participant.conversation_id = clock.conversation_id
    JOIN conversation ON conversation.bot_id = $1 AND conversation.id = clock.conversation_id
    WHERE clock.bot_id = $1 AND participant.user_id = $2
    ORDER BY clock.conversation_id FOR NO KEY UPDATE OF clock),
  ticked AS (
    UPDATE conversation_clock clock SET removals = removals + 1, signal_count = signal_count + is_chat::int FROM held
    WHERE clock.bot_id = $1 AND clock.conversation_id = held.conversation_id
    RETURNING clock.conversation_id, foreign_id, signal_count, is_chat)
  INSERT INTO signal (bot_id, conversation_id, number, type, data, closes)
  SELECT $1, conversation_id, signal_count, 'participant_removed', jsonb_build_object(
    'conversationId', coalesce(ticked.foreign_id, conversation_id),
    'participantId', coalesce((SELECT foreign_id FROM "user" WHERE bot_id = $1 AND id = $2), $2)), $2
  FROM ticked WHERE is_chat
  RETURNING conversation_id, number, type, data, closes`;

/**
 * Reads the clock by key, signals along signal_place, and messages and authors by key. Bytes are counted as text, since
 * stored values may be compressed to a hundredth.
 */
const findSignals = (where: string, order: 'ASC' | 'DESC') => `
  SELECT signal_count AS last, participant.user_id IS NOT NULL AS is_participant, recent.*
  FROM conversation_clock clock
  LEFT JOIN participant
    ON participant.bot_id = $1 AND participant.conversation_id = $2 AND participant.user_id = $3
  LEFT JOIN LATERAL (
    SELECT number, stored.type AS signal_type, stored.data, stored.closes, message.id, $2 AS conversation_id, message.user_id,
      message.type, message.payload, message.direction, message.created_at,
      conversation.foreign_id AS conversation_foreign_id, author.foreign_id AS user_foreign_id,
      sum(octet_length(coalesce(message.payload, stored.data)::text)) OVER (
        ORDER BY number ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
    FROM (
      SELECT * FROM signal
      WHERE bot_id = $1 AND conversation_id = $2 AND ${where}
      ORDER BY number ${order} LIMIT ${maxSignalsAtOnce}) stored
    JOIN conversation ON conversation.bot_id = $1 AND conversation.id = $2
    LEFT JOIN message ON message.bot_id = $1 AND message.id = stored.message_id
    LEFT JOIN "user" author ON author.bot_id = $1 AND author.id = message.user_id
  ) recent ON coalesce(bytes_before, 0) < ${maxBytesAtOnce}
  WHERE clock.bot_id = $1 AND clock.conversation_id = $2 AND NOT EXISTS (SELECT FROM dropped_bot WHERE bot_id = $1)
  ORDER BY number`;

const findSignalsAfter = findSignals('number > $4', 'ASC');
const findSignalsOfLastSecond = findSignals(
  `number > signal_count - ${maxSignalsAtOnce} AND created_at > clock_timestamp() - interval '1 second'`,
  'DESC',
);

const intervalMs = 10 * 60_000;
/** Margin: no writer finds its hour without a partition, even if none could be created for an hour. */
const hoursAhead = 2;
const hoursKept = 2;

@Injectable()
export class SignalsRepository {
  constructor(private readonly database: Database) {}

  async lockConversationClock(sql: Sql, botId: string, conversationId: string): Promise<boolean> {
    const rows = await sql.query(
      'SELECT FROM conversation_clock WHERE bot_id = $1 AND conversation_id = $2 FOR NO KEY UPDATE',
      [botId, conversationId],
    );
    return rows.length > 0;
  }

  /** Returns consecutive numbers. Holds the clock lock until the commit. */
  async insertSignals(sql: Sql, botId: string, conversationId: string, signals: Signal[]): Promise<number[]> {
    const rows = await sql.query<{ number: string }>(addSignals, [
      botId,
      conversationId,
      signals.length,
      toJsonb(signals),
    ]);
    return rows.map(({ number }) => Number(number)).sort((a, b) => a - b);
  }

  /**
   * Adds one signal to each conversation of the user, which ends the user's streams. Holds the clock locks until the
   * commit.
   */
  async insertParticipantRemovedSignals(
    sql: Sql,
    botId: string,
    userId: string,
  ): Promise<(NumberedSignal & { conversationId: string })[]> {
    const rows = await sql.query<Signal & { conversation_id: string; number: string }>(addParticipantRemoved, [
      botId,
      userId,
    ]);
    return rows.map(({ conversation_id, ...row }) => ({
      ...row,
      conversationId: conversation_id,
      number: Number(row.number),
    }));
  }

  /** Signals after the number, or of the last second. Undefined if the conversation was deleted. */
  async findRecentSignals(
    botId: string,
    conversationId: string,
    userId: string,
    after?: number,
  ): Promise<RecentSignals | undefined> {
    const key = [botId, conversationId, userId];
    const rows = await (after === undefined
      ? this.database.query<RecentRow>(findSignalsOfLastSecond, key)
      : this.database.query<RecentRow>(findSignalsAfter, [...key, after]));
    const [first] = rows;
    if (!first) return undefined;
    const signals = rows.filter(({ number }) => number !== null).map(toStoredSignal);
    const newest = Number(first.last);
    const last = signals.at(-1)?.number ?? newest;
    return { isParticipant: first.is_participant, last, hasMore: last < newest, signals };
  }

  /** Retention of signals: drops whole partitions, each of one hour. */
  @Every({ name: 'chat.signalPartitions', everyMs: intervalMs })
  async rotate(): Promise<void> {
    await this.rotatePartitions(hoursAhead, hoursKept);
  }

  async rotatePartitions(ahead: number, kept: number): Promise<void> {
    await rotatePartitions(this.database, { table: 'signal', unit: 'hour', ahead, kept });
  }
}

function toStoredSignal({ number, signal_type: type, data, closes, ...message }: RecentRow): StoredSignal {
  return {
    number: Number(number),
    type,
    data: data ?? undefined,
    closes: closes ?? undefined,
    message: message.id ? message : undefined,
  };
}
