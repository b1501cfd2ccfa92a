import { Injectable } from '@nestjs/common';
import type { ListMessages } from '@parley/contracts/chat/messages';
import { Database, type Sql, type Transaction } from '@parley/database/database';
import { pageSize } from '@parley/database/keyset';
import { toJsonb } from '@parley/database/storable';
import { BoundedReads } from '../lists/bounded-reads';
import { newestFirst } from '../lists/newest-first';
import { isWithin } from '../lists/span';
import { eachOf, few, taggedRows, type Wanted } from '../tags/tagged-rows';
import { isOf, type Scope } from '../runtime/scope';
import type { MessageRow } from './message.entity';

/** A message with what its signal shows. */
export interface MessageInPlace extends MessageRow {
  conversation_foreign_id: string | null;
  user_foreign_id: string | null;
}

type Changes = Pick<MessageRow, 'payload' | 'tags'>;

/** What a message must have to be meant: at least one tag. */
export interface WantedMessage {
  conversation_id: string;
  tags: Record<string, string>;
}

/** What is scheduled is here too, until it is due. */
export type MessageTable = 'message' | 'scheduled_message';

const columns = `m.bot_id, m.id, m.conversation_id, m.user_id, m.type, m.payload, m.tags, m.direction, m.origin,
  m.created_at, m.updated_at`;
/** Whatever is in a conversation goes with it at once, though its rows are deleted later. */
const inPlace = 'JOIN conversation c ON c.bot_id = $1 AND c.id = m.conversation_id';
const inScope = 'm.bot_id = $1 AND ($2::text IS NULL OR c.integration_alias = $2)';

/** Whether the conversation `$3` is in scope. */
const isThere = `EXISTS (SELECT FROM conversation WHERE bot_id = $1 AND id = $3 AND ${isOf('$2')})`;

const narrowing = 'Name a tag that few messages of the conversation have.';

/** Numbered from 1 in the order in which they were asked for. */
interface MessageInOrder extends MessageRow {
  place: number;
}

const withTag = `bot_id = $1 AND tag.conversation_id = wanted.conversation_id
  AND tag_key(tag.name) = tag_key(own.name) AND tag_key(tag.value) = tag_key(own.value)`;

/**
 * `$3` is a list of WantedMessage. Of several tags the rarest one of the conversation is walked, as in `taggedRows`; what it
 * leads to is looked at by its key alone.
 * Indexes tag_of_conversation and scheduled_message_of_conversation, then the primary keys.
 */
const oldestTagged = `
  SELECT wanted.place::int, m.* FROM ROWS FROM (jsonb_to_recordset($3::jsonb) AS (conversation_id text, tags jsonb))
    WITH ORDINALITY AS wanted (conversation_id, tags, place)
  CROSS JOIN LATERAL (
    SELECT id FROM conversation c WHERE bot_id = $1 AND id = wanted.conversation_id AND ${isOf('$2')} OFFSET 0) c
  CROSS JOIN LATERAL (
    SELECT name, value FROM (
      SELECT key AS name, value, count(*) OVER () AS tags FROM jsonb_each_text(wanted.tags)) own
    ORDER BY CASE WHEN own.tags > 1 THEN (
      SELECT count(*) FROM (
        SELECT FROM tag WHERE ${withTag} ORDER BY created_at, object_id LIMIT ${few + 1}) AS counted) END, name
    LIMIT 1) own
  CROSS JOIN LATERAL (
    SELECT ${columns} FROM (
      (SELECT m.*, false AS is_later FROM ${eachOf(
        `SELECT object_id, created_at FROM tag WHERE ${withTag}`,
        'm',
        `SELECT ${columns} FROM message m WHERE bot_id = $1 AND m.tags @> wanted.tags`,
      )} ORDER BY walk.created_at, walk.object_id LIMIT 1)
      UNION ALL
      (SELECT ${columns}, true AS is_later FROM scheduled_message m
       WHERE bot_id = $1 AND m.conversation_id = c.id AND m.tags @> wanted.tags ORDER BY m.created_at, m.id LIMIT 1)) m
    ORDER BY is_later LIMIT 1) m`;

@Injectable()
export class MessagesRepository {
  constructor(
    private readonly database: Database,
    private readonly bounded: BoundedReads,
  ) {}

  /** Index: the primary keys. */
  async find({ botId, alias }: Scope, id: string, table: MessageTable): Promise<MessageRow | undefined> {
    const [row] = await this.database.query<MessageRow>(
      `SELECT ${columns} FROM ${table} m ${inPlace} WHERE m.bot_id = $1 AND ${isOf('$2', 'c')} AND m.id = $3`,
      [botId, alias, id],
    );
    return row;
  }

  /**
   * For each that is wanted the oldest of its conversation that has all of the tags, what is scheduled last; a place is empty
   * where there is none. One statement, so that what falls due meanwhile is seen in one of its two tables.
   */
  async findTagged(
    tx: Transaction,
    { botId, alias }: Scope,
    wanted: WantedMessage[],
  ): Promise<(MessageRow | undefined)[]> {
    const values = [botId, alias, toJsonb(wanted)];
    // The index leads from one tag to its message; of several the rarest may be one of many.
    const found = wanted.every(({ tags }) => Object.keys(tags).length === 1)
      ? await tx.query<MessageInOrder>(oldestTagged, values)
      : await this.bounded.readIn<MessageInOrder>(tx, oldestTagged, values, narrowing);
    const rows: (MessageRow | undefined)[] = wanted.map(() => undefined);
    for (const { place, ...row } of found) rows[place - 1] = row;
    return rows;
  }

  /** For as long as the transaction lasts nobody else changes the message. */
  async lock(tx: Sql, { botId, alias }: Scope, id: string, table: MessageTable): Promise<MessageRow | undefined> {
    const [row] = await tx.query<MessageRow>(
      `SELECT ${columns} FROM ${table} m ${inPlace} WHERE m.bot_id = $1 AND ${isOf('$2', 'c')} AND m.id = $3 FOR UPDATE OF m`,
      [botId, alias, id],
    );
    return row;
  }

  /** Of a locked message. Its tags have rows of their own: TagsRepository brings them along. */
  async update(
    tx: Sql,
    { bot_id, id }: MessageRow,
    { payload, tags }: Changes,
    table: MessageTable,
  ): Promise<MessageRow> {
    const [row] = await tx.query<MessageRow>(
      `UPDATE ${table} m SET payload = $3, tags = $4,
         updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')
       WHERE bot_id = $1 AND id = $2 RETURNING ${columns}`,
      [bot_id, id, toJsonb(payload), toJsonb(tags)],
    );
    return row!;
  }

  /** Deletes it and takes it from the count of its conversation, which is held. Its tags have rows of their own. */
  async delete(tx: Sql, { bot_id, conversation_id, id }: MessageRow): Promise<MessageInPlace | undefined> {
    const [row] = await tx.query<MessageInPlace>(
      `WITH gone AS (DELETE FROM message m WHERE bot_id = $1 AND id = $3 RETURNING ${columns}),
       counted AS (
         UPDATE conversation_clock SET message_count = message_count - 1
         FROM gone WHERE conversation_clock.bot_id = $1 AND conversation_clock.conversation_id = $2)
       SELECT gone.*, conversation.foreign_id AS conversation_foreign_id, author.foreign_id AS user_foreign_id
       FROM gone
       LEFT JOIN conversation ON conversation.bot_id = $1 AND conversation.id = $2
       LEFT JOIN "user" author ON author.bot_id = $1 AND author.id = gone.user_id`,
      [bot_id, conversation_id, id],
    );
    return row;
  }

  /** Indexes message_of_conversation, message_created, or those of `taggedRows`. */
  async list({ botId, alias }: Scope, query: ListMessages) {
    const { conversationId, tags, afterDate, beforeDate, nextToken } = query;
    const limit = pageSize(query);
    const boundTo = [botId, alias, conversationId, tags, afterDate, beforeDate];
    const values: unknown[] = [botId, alias, conversationId ?? null, afterDate ?? null, beforeDate ?? null];
    const within = isWithin('m.created_at', [4, 5]);
    // What the tags lead to is looked at by its key: with the conversation here Postgres would rather go through all of its
    // messages.
    const all = `SELECT ${columns} FROM message m ${inPlace}
      WHERE ${inScope} AND ${within}`;
    const wanted: Wanted = { kind: 'message', as: 'm', rows: all, tags, conversationId, createdWithin: [4, 5] };
    const ofConversation = conversationId !== undefined && !tags;
    const { from, time, id } = await taggedRows(this.database, wanted, values);
    const keyset = newestFirst<MessageRow>(
      time,
      id,
      ofConversation
        ? { sql: 'm.conversation_id', value: '$3', from: afterDate && '$4', to: beforeDate && '$5' }
        : undefined,
    );
    const after = keyset.after(nextToken, boundTo, values);
    const page = `ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}`;
    const statement = ofConversation
      ? `SELECT ${columns} FROM message m WHERE m.bot_id = $1 AND ${isThere} AND ${within} AND ${after} ${page}`
      : `SELECT m.* FROM ${from} WHERE ($3::text IS NULL OR m.conversation_id = $3) AND ${after} ${page}`;
    const rows =
      ofConversation || (!tags && alias === null)
        ? await this.database.query<MessageRow>(statement, values)
        : await this.bounded.read<MessageRow>(
            statement,
            values,
            conversationId === undefined ? 'Name a conversation, or a tag that few messages have.' : narrowing,
          );
    return keyset.page(rows, limit, boundTo);
  }
}
