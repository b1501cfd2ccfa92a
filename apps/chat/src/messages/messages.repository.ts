import { Injectable } from '@nestjs/common';
import type { ListMessages } from '@parley/contracts/chat/messages';
import { Database, type Sql } from '@parley/database/database';
import { Keyset, pageSize } from '@parley/database/keyset';
import { toJsonb } from '@parley/database/storable';
import { BoundedReads } from '../lists/bounded-reads';
import { isWithin } from '../lists/span';
import { taggedRows, type Wanted } from '../tags/tagged-rows';
import type { Scope } from '../runtime/scope';
import type { MessageRow } from './message.entity';

/** A message with what its signal shows. */
export interface MessageInPlace extends MessageRow {
  conversation_foreign_id: string | null;
  user_foreign_id: string | null;
}

type Changes = Pick<MessageRow, 'payload' | 'tags'>;

/** What is scheduled is here too, until it is due. */
export type MessageTable = 'message' | 'scheduled_message';

const columns = `m.bot_id, m.id, m.conversation_id, m.user_id, m.type, m.payload, m.tags, m.direction, m.origin,
  m.created_at, m.updated_at`;
/** Whatever is in a conversation goes with it at once, though its rows are deleted later. */
const inPlace = 'JOIN conversation c ON c.bot_id = $1 AND c.id = m.conversation_id';
const inScope = 'm.bot_id = $1 AND ($2::text IS NULL OR c.integration_alias = $2)';

function newestFirst(createdAt: string, id: string): Keyset<MessageRow> {
  return new Keyset<MessageRow>([
    { sql: createdAt, type: 'timestamptz', of: (row) => row.created_at },
    { sql: id, type: 'text', of: (row) => row.id },
  ]);
}

@Injectable()
export class MessagesRepository {
  constructor(
    private readonly database: Database,
    private readonly bounded: BoundedReads,
  ) {}

  /** Index: the primary keys. */
  async find({ botId, alias }: Scope, id: string, table: MessageTable): Promise<MessageRow | undefined> {
    const [row] = await this.database.query<MessageRow>(
      `SELECT ${columns} FROM ${table} m ${inPlace} WHERE ${inScope} AND m.id = $3`,
      [botId, alias, id],
    );
    return row;
  }

  /** The oldest of the conversation that has all of these tags, what is scheduled last. Index tag_place. */
  async findTagged(
    { botId, alias }: Scope,
    conversationId: string,
    tags: Record<string, string>,
    sql: Sql = this.database,
  ): Promise<MessageRow | undefined> {
    const values: unknown[] = [botId, alias, conversationId];
    const rows = `SELECT ${columns} FROM message m ${inPlace} WHERE ${inScope} AND m.conversation_id = $3`;
    const { from, time, id } = await taggedRows(sql, { kind: 'message', as: 'm', rows, tags }, values);
    const [row] = await sql.query<MessageRow>(`SELECT m.* FROM ${from} ORDER BY ${time}, ${id} LIMIT 1`, values);
    return row ?? this.findTaggedForLater({ botId, alias }, conversationId, tags, sql);
  }

  /** For as long as the transaction lasts nobody else changes the message. */
  async lock(tx: Sql, { botId, alias }: Scope, id: string, table: MessageTable): Promise<MessageRow | undefined> {
    const [row] = await tx.query<MessageRow>(
      `SELECT ${columns} FROM ${table} m ${inPlace} WHERE ${inScope} AND m.id = $3 FOR UPDATE OF m`,
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

  async list({ botId, alias }: Scope, query: ListMessages) {
    const { conversationId, tags, afterDate, beforeDate, nextToken } = query;
    const limit = pageSize(query);
    const boundTo = [botId, alias, conversationId, tags, afterDate, beforeDate];
    const values: unknown[] = [botId, alias, conversationId ?? null, afterDate ?? null, beforeDate ?? null];
    const within = isWithin('m.created_at', [4, 5]);
    // Index message_created.
    const all = `SELECT ${columns} FROM message m ${inPlace}
      WHERE ${inScope} AND ($3::text IS NULL OR m.conversation_id = $3) AND ${within}`;
    const wanted: Wanted = { kind: 'message', as: 'm', rows: all, tags, createdWithin: [4, 5] };
    const { from, time, id } = await taggedRows(this.database, wanted, values);
    const keyset = newestFirst(time, id);
    const after = keyset.after(nextToken, boundTo, values);
    const page = `ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}`;
    const ofConversation = conversationId !== undefined && !tags;
    const statement = ofConversation
      ? pageOfConversation(`${within} AND ${after}`, page)
      : `SELECT m.* FROM ${from} WHERE ${after} ${page}`;
    const rows =
      ofConversation || (!tags && alias === null)
        ? await this.database.query<MessageRow>(statement, values)
        : await this.bounded.read<MessageRow>(
            statement,
            values,
            'Name a conversation, or a tag that few messages have.',
          );
    return keyset.page(rows, limit, boundTo);
  }

  /** Index scheduled_message_of_conversation. */
  private async findTaggedForLater(
    { botId, alias }: Scope,
    conversationId: string,
    tags: Record<string, string>,
    sql: Sql,
  ): Promise<MessageRow | undefined> {
    const [row] = await sql.query<MessageRow>(
      `SELECT ${columns} FROM scheduled_message m ${inPlace}
       WHERE ${inScope} AND m.conversation_id = $3 AND m.tags @> $4::jsonb ORDER BY m.created_at, m.id LIMIT 1`,
      [botId, alias, conversationId, toJsonb(tags)],
    );
    return row;
  }
}

/** Index message_of_conversation. Who plans it must not know the conversation: for a large one it would take the other. */
function pageOfConversation(condition: string, page: string): string {
  return `WITH place AS MATERIALIZED (
      SELECT id FROM conversation c WHERE bot_id = $1 AND id = $3 AND ($2::text IS NULL OR integration_alias = $2))
    SELECT m.* FROM place CROSS JOIN LATERAL (
      SELECT ${columns} FROM message m WHERE m.bot_id = $1 AND m.conversation_id = place.id AND ${condition} ${page}) m
    ${page}`;
}
