import { Injectable } from '@nestjs/common';
import type { ListMessages } from '@parley/contracts/chat/messages';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { knownLimit, pageSize } from '@parley/persistence/keyset';
import { toJsonb } from '@parley/persistence/storable';
import { BoundedReadsService } from '../queries/bounded-reads.service';
import { isWithin, newestFirst } from '../queries/list-statements';
import { eachOf, maxSortedRows, taggedRows, type TaggedRowsQuery } from '../tags/tagged-rows';
import { isOf, type Scope } from '../queries/scope';
import type { ListedMessage, MessageEntity } from './message.entity';

export interface MessageWithForeignIds extends MessageEntity {
  conversation_foreign_id: string | null;
  user_foreign_id: string | null;
}

export interface LockedMessage extends MessageEntity {
  /** Alias of the installation that the conversation belongs to. */
  integration_alias: string;
}

type Changes = Pick<MessageEntity, 'payload' | 'tags'>;

export interface MessageTagFilter {
  conversation_id: string;
  tags: Record<string, string>;
}

export type MessageTable = 'message' | 'scheduled_message';

const listed = `m.id, m.conversation_id, m.user_id, m.type, m.payload, m.tags, m.direction, m.origin, m.created_at,
  m.updated_at`;
const columns = `m.bot_id, ${listed}`;
/** Join that hides messages of a deleted conversation, whose rows are erased later. */
const joinConversation = 'JOIN conversation c ON c.bot_id = $1 AND c.id = m.conversation_id';
const inScope = 'm.bot_id = $1 AND ($2::text IS NULL OR c.integration_alias = $2)';

const isThere = `EXISTS (SELECT FROM conversation WHERE bot_id = $1 AND id = $3 AND ${isOf('$2')})`;

/** As a subquery, the conversation is unknown to the planner: it has one plan for all of them. */
const latestMessages = newestFirst<ListedMessage>('m.created_at', 'm.id', {
  sql: 'm.conversation_id',
  value: '(SELECT $3)',
});

const narrowing = 'Filter by a tag that few messages of the conversation have.';

interface NumberedMessage extends MessageEntity {
  ordinal: number;
}

const withTag = `bot_id = $1 AND tag.conversation_id = lookup.conversation_id
  AND tag_key(tag.name) = tag_key(own.name) AND tag_key(tag.value) = tag_key(own.value)`;

/**
 * `$3` is a list of MessageTagFilter. Among several tags it walks the rarest one in the conversation, as in `taggedRows`, and
 * checks the others by primary key. Indexes tag_of_conversation and scheduled_message_of_conversation, then the primary
 * keys.
 */
const oldestTagged = `
  SELECT lookup.ordinal::int, m.* FROM ROWS FROM (jsonb_to_recordset($3::jsonb) AS (conversation_id text, tags jsonb))
    WITH ORDINALITY AS lookup (conversation_id, tags, ordinal)
  CROSS JOIN LATERAL (
    SELECT id FROM conversation c WHERE bot_id = $1 AND id = lookup.conversation_id AND ${isOf('$2')} OFFSET 0) c
  CROSS JOIN LATERAL (
    SELECT name, value FROM (
      SELECT key AS name, value, count(*) OVER () AS tags FROM jsonb_each_text(lookup.tags)) own
    ORDER BY CASE WHEN own.tags > 1 THEN (
      SELECT count(*) FROM (
        SELECT FROM tag WHERE ${withTag} ORDER BY created_at, object_id LIMIT ${maxSortedRows + 1}) AS counted) END, name
    LIMIT 1) own
  CROSS JOIN LATERAL (
    SELECT ${columns} FROM (
      (SELECT m.*, false AS is_later FROM ${eachOf(
        `SELECT object_id, created_at FROM tag WHERE ${withTag}`,
        'm',
        `SELECT ${columns} FROM message m WHERE bot_id = $1 AND m.tags @> lookup.tags`,
      )} ORDER BY walk.created_at, walk.object_id LIMIT 1)
      UNION ALL
      (SELECT ${columns}, true AS is_later FROM scheduled_message m
       WHERE bot_id = $1 AND m.conversation_id = c.id AND m.tags @> lookup.tags ORDER BY m.created_at, m.id LIMIT 1)) m
    ORDER BY is_later LIMIT 1) m`;

@Injectable()
export class MessagesRepository {
  constructor(
    private readonly database: Database,
    private readonly bounded: BoundedReadsService,
  ) {}

  async findMessageById({ botId, alias }: Scope, id: string, table: MessageTable): Promise<MessageEntity | undefined> {
    const [row] = await this.database.query<MessageEntity>(
      `SELECT ${columns} FROM ${table} m ${joinConversation} WHERE m.bot_id = $1 AND ${isOf('$2', 'c')} AND m.id = $3`,
      [botId, alias, id],
    );
    return row;
  }

  /**
   * For each lookup the oldest message of the conversation with all tags, or else a scheduled one; undefined if there
   * is none. One statement with one snapshot: a message that becomes due meanwhile is seen in one of the two tables.
   */
  async findOldestMessagesByTags(
    tx: Transaction,
    { botId, alias }: Scope,
    filters: MessageTagFilter[],
  ): Promise<(MessageEntity | undefined)[]> {
    const values = [botId, alias, toJsonb(filters)];
    // The index finds a message by one tag. With several tags even the rarest may be frequent, so the time is limited.
    const found = filters.every(({ tags }) => Object.keys(tags).length === 1)
      ? await tx.query<NumberedMessage>(oldestTagged, values)
      : await this.bounded.readIn<NumberedMessage>(tx, oldestTagged, values, narrowing);
    const rows: (MessageEntity | undefined)[] = filters.map(() => undefined);
    for (const { ordinal, ...row } of found) rows[ordinal - 1] = row;
    return rows;
  }

  async lockMessage(
    tx: Sql,
    { botId, alias }: Scope,
    id: string,
    table: MessageTable,
  ): Promise<LockedMessage | undefined> {
    const [row] = await tx.query<LockedMessage>(
      `SELECT ${columns}, c.integration_alias FROM ${table} m ${joinConversation}
       WHERE m.bot_id = $1 AND ${isOf('$2', 'c')} AND m.id = $3 FOR UPDATE OF m`,
      [botId, alias, id],
    );
    return row;
  }

  /** Requires the row lock. Tag rows are updated separately, by TagsRepository. */
  async updateMessage(
    tx: Sql,
    { bot_id, id }: MessageEntity,
    { payload, tags }: Changes,
    table: MessageTable,
  ): Promise<MessageEntity> {
    const [row] = await tx.query<MessageEntity>(
      `UPDATE ${table} m SET payload = $3, tags = $4,
         updated_at = greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')
       WHERE bot_id = $1 AND id = $2 RETURNING ${columns}`,
      [bot_id, id, toJsonb(payload), toJsonb(tags)],
    );
    return row!;
  }

  /**
   * Deletes the message and decrements the message count of the conversation. Requires the clock lock. Tag rows are
   * deleted separately, by TagsRepository.
   */
  async deleteMessage(
    tx: Sql,
    { bot_id, conversation_id, id }: MessageEntity,
  ): Promise<MessageWithForeignIds | undefined> {
    const [row] = await tx.query<MessageWithForeignIds>(
      `WITH gone AS (DELETE FROM message m WHERE bot_id = $1 AND id = $3 RETURNING ${columns}),
       changes AS (DELETE FROM outgoing_change WHERE bot_id = $1 AND conversation_id = $2 AND message_id = $3),
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
  async listMessages({ botId, alias }: Scope, query: ListMessages) {
    const { conversationId, tags, afterDate, beforeDate, nextToken } = query;
    const limit = pageSize(query);
    const boundTo = [botId, alias, conversationId, tags, afterDate, beforeDate];
    if (conversationId !== undefined && !tags && !afterDate && !beforeDate && !nextToken)
      return latestMessages.page(await this.listLatest(botId, alias, conversationId, limit + 1), limit, boundTo);
    const values: unknown[] = [botId, alias, conversationId ?? null, afterDate ?? null, beforeDate ?? null];
    const within = isWithin('m.created_at', [4, 5]);
    // Filter on the conversation stands outside: inside, Postgres would scan all messages of the conversation instead
    // of looking up the tagged ones by key.
    const all = `SELECT ${columns} FROM message m ${joinConversation}
      WHERE ${inScope} AND ${within}`;
    const taggedRowsQuery: TaggedRowsQuery = {
      kind: 'message',
      as: 'm',
      rows: all,
      tags,
      conversationId,
      createdWithin: [4, 5],
    };
    const ofConversation = conversationId !== undefined && !tags;
    const { from, time, id } = await taggedRows(this.database, taggedRowsQuery, values);
    const keyset = newestFirst<ListedMessage>(
      time,
      id,
      ofConversation
        ? { sql: 'm.conversation_id', value: '$3', from: afterDate && '$4', to: beforeDate && '$5' }
        : undefined,
    );
    const after = keyset.after(nextToken, boundTo, values);
    const page = `ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}`;
    const statement = ofConversation
      ? `SELECT ${listed} FROM message m WHERE m.bot_id = $1 AND ${isThere} AND ${within} AND ${after} ${page}`
      : `SELECT m.* FROM ${from} WHERE ($3::text IS NULL OR m.conversation_id = $3) AND ${after} ${page}`;
    // Their texts differ: a prepared statement for each would fill the memory of every connection.
    const rows =
      ofConversation || (!tags && alias === null)
        ? await this.database.query<ListedMessage>(statement, values, undefined, 'timeTexts')
        : await this.bounded.read<ListedMessage>(
            statement,
            values,
            conversationId === undefined ? 'Filter by a conversation, or by a tag that few messages have.' : narrowing,
          );
    return keyset.page(rows, limit, boundTo);
  }

  /** The most frequent list, as a prepared statement that Postgres plans once: see `knownLimit`. */
  private listLatest(botId: string, alias: string | null, conversationId: string, limit: number) {
    const order = `ORDER BY ${latestMessages.orderBy}`;
    const known = knownLimit(limit);
    return this.database.query<ListedMessage>(
      `SELECT ${listed} FROM (
         SELECT * FROM message m
         WHERE m.bot_id = $1 AND ${isThere} AND ${latestMessages.after(undefined, [], [])} ${order} LIMIT ${known}) m
       ${order} LIMIT $4`,
      [botId, alias, conversationId, limit],
      `latest-messages-${known}`,
      'timeTexts',
    );
  }
}
