import { Injectable } from '@nestjs/common';
import type { ChatLeftovers } from '@parley/contracts/chat/leftovers';
import { Database, type Sql } from '@parley/persistence/database';
import { type Tagged, TagsRepository } from '../tags/tags.repository';
import { DroppedBotEntity } from './bot.entity';

/** Requests that were running at the time of the deletion have ended by then. */
const settledAfter = `interval '5 minutes'`;
/** Rows to delete. `$1` is the bot, `$2` the batch size. */
interface BatchDeletion {
  table: string;
  where: string;
  /** Condition where the first batch begins; each further batch continues after the last row. */
  from?: string;
  order: string;
}

/**
 * Every table with rows of a bot and the columns of the index that finds them, so that a batch continues where the last
 * one ended. Parent tables come first: then no new child rows can be written.
 */
const tablesOfBot = {
  conversation: 'id',
  '"user"': 'id',
  conversation_clock: 'conversation_id',
  participant: 'conversation_id, user_id',
  scheduled_message: 'id',
  message: 'id',
  outgoing_change: 'id',
  recurring_event: 'name',
  recurring_revision: 'bot_id',
  called_bot: 'bot_id',
  workflow: 'id',
  event: 'id',
  state: 'type, owner_id, name',
  tag: 'kind, tag_key(name), tag_key(value), created_at, object_id',
  analytics_count: 'day, name',
  model_use: 'hour',
  observation: 'id',
  idempotency_key: 'scope, operation, key',
};

/**
 * Bounded from both sides, as by `LeadingColumn`: the scan begins at the conversation instead of at the start of the
 * bot's index.
 */
const ofConversation = { where: 'conversation_id <= $3', from: 'conversation_id >= $3' };
const orderOfMessages = 'conversation_id, created_at, id';

const tablesOfConversation = {
  conversation_clock: { where: 'conversation_id = $3', order: 'conversation_id' },
  participant: { where: 'conversation_id = $3', order: 'user_id' },
  scheduled_message: { ...ofConversation, order: 'conversation_id, id' },
  state: { where: `type = 'conversation' AND owner_id = $3`, order: 'name' },
  event: { ...ofConversation, order: 'conversation_id, id' },
  observation: { ...ofConversation, order: 'conversation_id, id' },
  outgoing_change: { ...ofConversation, order: 'conversation_id, created_at' },
};

/** Rows are deleted by ctid, so that the planner cannot choose a bad join. */
@Injectable()
export class ErasureRepository {
  constructor(
    private readonly database: Database,
    private readonly tags: TagsRepository,
  ) {}

  async insertBotTombstone(tx: Sql, botId: string): Promise<void> {
    await tx.query('INSERT INTO dropped_bot (bot_id) VALUES ($1) ON CONFLICT DO NOTHING', [botId]);
  }

  async deleteBotTombstone(botId: string): Promise<void> {
    await this.database.manager.delete(DroppedBotEntity, { bot_id: botId });
  }

  /** Milliseconds until no request that was running at the deletion can add rows; 0 if none can. */
  async msUntilSettled(deletedAt: Date): Promise<number> {
    const [row] = await this.database.query<{ ms: number }>(
      `SELECT greatest(0, extract(epoch FROM $1::timestamptz + ${settledAfter} - now()) * 1000)::float8 AS ms`,
      [deletedAt],
    );
    return row!.ms;
  }

  /** Deletes all rows of the bot in batches of at most `limit`. Yields the count of each batch. */
  async *deleteRowsOfBot(botId: string, limit: number): AsyncGenerator<number> {
    for (const [table, order] of Object.entries(tablesOfBot))
      yield* this.deleteInBatches({ table, where: 'true', order }, [botId, limit]);
    yield* this.deleteSignals('true', [botId, limit]);
  }

  async *deleteRowsOfConversation(botId: string, conversationId: string, limit: number): AsyncGenerator<number> {
    const values = [botId, limit, conversationId];
    yield* this.deleteMessages(values);
    for (const [table, rows] of Object.entries(tablesOfConversation))
      yield* this.deleteInBatches({ table, ...rows }, values);
    yield* this.deleteSignals('conversation_id = $3', values);
  }

  async countRowsOfBot(botId: string): Promise<ChatLeftovers> {
    const count = (table: string) => `(SELECT count(*) FROM ${table} WHERE bot_id = $1)`;
    const [counts] = await this.database.query<Record<keyof ChatLeftovers, string>>(
      `SELECT ${count('"user"')} AS users, ${count('conversation')} + ${count('conversation_clock')} AS conversations,
         ${count('participant')} AS participants, ${count('message')} + ${count('scheduled_message')} + ${count('outgoing_change')} AS messages,
         ${count('event')} + ${count('recurring_event')} + ${count('recurring_revision')} AS events,
         ${count('state')} AS states, ${count('workflow')} AS workflows, ${count('tag')} AS tags,
         ${count('signal')} AS signals, ${count('analytics_count')} + ${count('observation')} + ${count('model_use')} AS analytics, ${count('idempotency_key')} AS "chatAnswers"`,
      [botId],
    );
    return Object.fromEntries(Object.entries(counts!).map(([name, text]) => [name, Number(text)])) as never;
  }

  /**
   * Keyset pagination: each batch starts after the last row, since the start of the index holds only dead entries by
   * then.
   */
  private async *deleteInBatches(
    { table, where, from = 'true', order }: BatchDeletion,
    values: unknown[],
  ): AsyncGenerator<number> {
    for (let after: unknown[] | undefined, isFirst = true; isFirst || after; isFirst = false) {
      const [last] = await this.database.query<{ sort_key: unknown[]; count: number }>(
        `WITH batch AS MATERIALIZED (
             SELECT ctid AS row_id, json_build_array(${order}) AS sort_key, row_number() OVER (ORDER BY ${order}) AS nth
             FROM ${table} WHERE bot_id = $1 AND ${where} AND ${after ? isAfterKey(order, after, values.length) : from}
             ORDER BY ${order} LIMIT $2),
           gone AS (
             DELETE FROM ${table} WHERE bot_id = $1 AND ctid = ANY (ARRAY(SELECT row_id FROM batch)) RETURNING 1)
         SELECT sort_key, (SELECT count(*)::int FROM gone) AS count FROM batch ORDER BY nth DESC LIMIT 1`,
        [...values, ...(after ?? [])],
      );
      after = last?.sort_key;
      if (last) yield last.count;
    }
  }

  /** Deletes messages together with their tag rows. Indexes: message_of_conversation, tag_place. */
  private async *deleteMessages(values: unknown[]): AsyncGenerator<number> {
    for (let last: Tagged | undefined, isFirst = true; isFirst || last; isFirst = false) {
      const after = last && [last.conversation_id, last.created_at, last.id];
      const { where, from } = ofConversation;
      const rows = await this.database.transaction(async (tx) => {
        const gone = await tx.query<Tagged & { tags: Record<string, string> }>(
          `WITH gone AS (
               DELETE FROM message WHERE bot_id = $1 AND ctid = ANY (ARRAY(
                 SELECT ctid FROM message
                 WHERE bot_id = $1 AND ${where} AND ${after ? isAfterKey(orderOfMessages, after, values.length) : from}
                 ORDER BY ${orderOfMessages} LIMIT $2))
               RETURNING bot_id, id, conversation_id, created_at, tags)
           SELECT * FROM gone ORDER BY created_at, id`,
          [...values, ...(after ?? [])],
        );
        await this.tags.removeTagsOfObjects(tx, 'message', gone);
        return gone;
      });
      last = rows.at(-1);
      if (last) yield rows.length;
    }
  }

  /** Partition by partition, since a ctid identifies a row only within one table. Index signal_place. */
  private async *deleteSignals(where: string, values: unknown[]): AsyncGenerator<number> {
    const partitions = await this.database.query<{ name: string }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'signal'::regclass`,
    );
    for (const { name: table } of partitions)
      yield* this.deleteInBatches({ table, order: 'conversation_id, number', where }, values);
  }
}

function isAfterKey(order: string, key: unknown[], valuesBefore: number): string {
  return `(${order}) > (${key.map((_, index) => `$${valuesBefore + 1 + index}`).join(', ')})`;
}
