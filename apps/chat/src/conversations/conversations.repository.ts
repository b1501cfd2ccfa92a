import { Injectable } from '@nestjs/common';
import type { ListConversations } from '@parley/contracts/chat/conversations';
import { Database, type Sql } from '@parley/persistence/database';
import { newId, timeOfId } from '@parley/persistence/ids';
import { Keyset, type LeadingColumn, pageSize } from '@parley/persistence/keyset';
import { toJsonb } from '@parley/persistence/storable';
import { BoundedReadsService } from '../queries/bounded-reads.service';
import { isWithin } from '../queries/list-statements';
import { taggedRows, type TaggedRowsQuery } from '../tags/tagged-rows';
import { tagRowsOf } from '../tags/tags.repository';
import { isOf, type Scope } from '../queries/scope';
import { type ConversationEntity, type ConversationWithCount, ParticipantEntity } from './conversation.entity';

export type NewConversation = Pick<
  ConversationEntity,
  | 'bot_id'
  | 'integration_alias'
  | 'integration_id'
  | 'channel'
  | 'is_chat'
  | 'tags'
  | 'properties'
  | 'foreign_id'
  | 'owner_id'
>;

const whole = `c.*, coalesce(clock.message_count, 0) AS message_count`;
const withClock = `conversation c LEFT JOIN conversation_clock clock
  ON clock.bot_id = c.bot_id AND clock.bot_id = $1 AND clock.conversation_id = c.id`;
const inScope = `c.bot_id = $1 AND ($2::text IS NULL OR c.integration_alias = $2)`;

const narrowing =
  'Filter by a tag or a participant that few conversations have, or sort by createdAt and give a narrow date range: no index serves this combination of filters.';

@Injectable()
export class ConversationsRepository {
  constructor(
    private readonly database: Database,
    private readonly bounded: BoundedReadsService,
  ) {}

  /**
   * Inserts the conversation with its clock and, if it has an owner, the owner as participant. Throws a unique
   * violation for a duplicate foreign id.
   */
  async insertConversation(conversation: NewConversation, sql: Sql = this.database): Promise<ConversationWithCount> {
    const id = newId('conv');
    const [row] = await sql.query<ConversationWithCount>(
      `WITH made AS (
         INSERT INTO conversation (bot_id, id, integration_alias, integration_id, channel, is_chat, tags, properties,
           foreign_id, owner_id, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
         RETURNING *),
       tags AS (${tagRowsOf('conversation', 'made')}),
       clock AS (INSERT INTO conversation_clock (bot_id, conversation_id) SELECT bot_id, id FROM made),
       owner AS (
         INSERT INTO participant (bot_id, conversation_id, user_id)
         SELECT made.bot_id, made.id, "user".id FROM made
         JOIN "user" ON "user".bot_id = $1 AND "user".id = owner_id FOR KEY SHARE OF "user")
       SELECT *, 0 AS message_count FROM made`,
      [
        conversation.bot_id,
        id,
        conversation.integration_alias,
        conversation.integration_id,
        conversation.channel,
        conversation.is_chat,
        toJsonb(conversation.tags),
        toJsonb(conversation.properties),
        conversation.foreign_id,
        conversation.owner_id,
        timeOfId(id),
      ],
    );
    return row!;
  }

  async findConversationById(
    { botId, alias }: Scope,
    id: string,
    sql: Sql = this.database,
  ): Promise<ConversationWithCount | undefined> {
    const [row] = await sql.query<ConversationWithCount>(
      `SELECT ${whole} FROM ${withClock} WHERE c.bot_id = $1 AND ${isOf('$2', 'c')} AND c.id = $3`,
      [botId, alias, id],
    );
    return row;
  }

  /** Oldest conversation of the channel with all of these tags. Index tag_place. */
  async findOldestConversationByTags(
    { botId, alias }: Scope,
    channel: string,
    tags: Record<string, string>,
    sql: Sql = this.database,
  ): Promise<ConversationWithCount | undefined> {
    const values: unknown[] = [botId, alias, channel];
    const rows = `SELECT ${whole} FROM ${withClock} WHERE ${inScope} AND c.channel = $3`;
    const { from, time, id } = await taggedRows(sql, { kind: 'conversation', as: 'c', rows, tags }, values);
    const [row] = await sql.query<ConversationWithCount>(
      `SELECT c.* FROM ${from} ORDER BY ${time}, ${id} LIMIT 1`,
      values,
    );
    return row;
  }

  /** Row lock until the end of the transaction: blocks other changes of the conversation, but not new messages. */
  async lockConversation(tx: Sql, { botId, alias }: Scope, id: string): Promise<ConversationWithCount | undefined> {
    const [row] = await tx.query<ConversationWithCount>(
      `SELECT ${whole} FROM ${withClock} WHERE c.bot_id = $1 AND ${isOf('$2', 'c')} AND c.id = $3 FOR UPDATE OF c`,
      [botId, alias, id],
    );
    return row;
  }

  /** Requires the row lock. Tag rows are updated separately, by TagsRepository. */
  async updateConversation(tx: Sql, conversation: ConversationWithCount): Promise<ConversationWithCount> {
    const [row] = await tx.query<ConversationEntity>(
      `UPDATE conversation SET tags = $3, properties = $4, current_task_id = $5,
         updated_at = greatest(now(), updated_at + interval '1 millisecond')
       WHERE bot_id = $1 AND id = $2 RETURNING *`,
      [
        conversation.bot_id,
        conversation.id,
        toJsonb(conversation.tags),
        toJsonb(conversation.properties),
        conversation.current_task_id,
      ],
    );
    return { ...row!, message_count: conversation.message_count };
  }

  async listParticipantIds(tx: Sql, { bot_id, id }: ConversationEntity): Promise<string[]> {
    const participants = await tx.manager.findBy(ParticipantEntity, { bot_id, conversation_id: id });
    return participants.map(({ user_id }) => user_id);
  }

  /** Requires the row lock. Also deletes the small dependent rows, but not messages, events and signals. */
  async deleteConversation(tx: Sql, { bot_id, id }: ConversationEntity): Promise<void> {
    await tx.query(
      `WITH participants AS (DELETE FROM participant WHERE bot_id = $1 AND conversation_id = $2),
         states AS (DELETE FROM state WHERE bot_id = $1 AND type = 'conversation' AND owner_id = $2),
         clock AS (DELETE FROM conversation_clock WHERE bot_id = $1 AND conversation_id = $2)
       DELETE FROM conversation WHERE bot_id = $1 AND id = $2`,
      [bot_id, id],
    );
  }

  /**
   * Indexes conversation_created, conversation_updated, conversation_channel, or their counterparts per integration;
   * participant_user and the indexes of `taggedRows` for those filters. No query counts messages.
   */
  async listConversations({ botId, alias }: Scope, query: ListConversations) {
    const { participantIds, tags, channel, afterDate, beforeDate, minMessageCount, maxMessageCount } = query;
    const { sortField = 'createdAt', sortDirection = 'desc' } = query;
    const limit = pageSize(query);
    const filters = [channel, afterDate, beforeDate, minMessageCount, maxMessageCount].map((value) => value ?? null);
    const boundTo = [botId, alias, participantIds, tags, ...filters];
    const values: unknown[] = [botId, alias, ...filters];
    const orderBy = sortField === 'createdAt' ? 'created_at' : 'updated_at';
    const leading = leadingOf(alias, query);
    const all = `SELECT ${whole} FROM ${withClock} ${joinParticipants(participantIds, values)}
      WHERE ${leading?.value === '$2' ? 'c.bot_id = $1' : inScope}
        AND ${leading?.value === '$3' ? 'true' : '($3::text IS NULL OR c.channel = $3)'}
        AND ${isWithin('c.created_at', [4, 5])}
        AND ($6::int IS NULL OR coalesce(clock.message_count, 0) >= $6)
        AND ($7::int IS NULL OR coalesce(clock.message_count, 0) <= $7)`;
    const taggedRowsQuery: TaggedRowsQuery = {
      kind: 'conversation',
      as: 'c',
      rows: all,
      tags,
      orderBy,
      createdWithin: [4, 5],
    };
    const { from, time, id } = await taggedRows(this.database, taggedRowsQuery, values);
    const keyset = new Keyset<ConversationWithCount>(
      [
        { sql: time, type: 'timestamptz', of: (row) => row[orderBy] },
        { sql: id, type: 'text', of: (row) => row.id },
      ],
      sortDirection,
      leading,
    );
    const page = `SELECT c.* FROM ${from} WHERE ${keyset.after(query.nextToken, boundTo, values)}
      ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}`;
    const rows = isServed(alias, query)
      ? await this.database.query<ConversationWithCount>(page, values)
      : await this.bounded.read<ConversationWithCount>(page, values, narrowing);
    return keyset.page(rows, limit, boundTo);
  }
}

/** True if one index serves all filters in sort order. Indexes on updated_at contain neither channel nor creation time. */
function isServed(alias: string | null, query: ListConversations): boolean {
  const { participantIds, tags, minMessageCount, maxMessageCount, channel, afterDate, beforeDate, sortField } = query;
  const others: unknown[] = [participantIds, tags, minMessageCount, maxMessageCount];
  if (sortField === 'updatedAt') others.push(channel, afterDate, beforeDate);
  else if (alias !== null) others.push(channel);
  return others.every((value) => value === undefined);
}

/** Column that follows bot_id in the index: alias (`$2`) or channel (`$3`). */
function leadingOf(alias: string | null, query: ListConversations): LeadingColumn | undefined {
  if (!isServed(alias, query)) return undefined;
  const span = { from: query.afterDate && '$4', to: query.beforeDate && '$5' };
  if (alias !== null) return { sql: 'c.integration_alias', value: '$2', ...span };
  return query.channel === undefined ? undefined : { sql: 'c.channel', value: '$3', ...span };
}

/** Index participant_user. */
function joinParticipants(userIds: string[] | undefined, values: unknown[]): string {
  return [...new Set(userIds)]
    .map(
      (userId, index) => `JOIN participant p_${index} ON p_${index}.bot_id = $1
        AND p_${index}.user_id = $${values.push(userId)} AND p_${index}.conversation_id = c.id`,
    )
    .join('\n');
}
