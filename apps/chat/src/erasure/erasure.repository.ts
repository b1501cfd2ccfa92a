import { Injectable } from '@nestjs/common';
import type { ChatLeftovers } from '@parley/contracts/chat/leftovers';
import { Database } from '@parley/persistence/database';
import { type Tagged, TagsRepository } from '../tags/tags.repository';

/** Cleanup queue entry: a deleted conversation or, without `conversation_id`, a deleted bot. */
export interface Tombstone {
  bot_id: string;
  conversation_id?: string;
}

/** Requests that were running at the time of the deletion have ended by then. */
const settledAfter = `interval '5 minutes'`;
/** Lease, renewed with each batch: another process takes over an entry after a minute without renewal. */
const leaseEnd = `now() + interval '1 minute'`;

/** Rows to delete. `$1` is the bot, `$2` the batch size. The lease in `renewLease` is renewed with each batch. */
interface BatchDeletion {
  table: string;
  where: string;
  /** Condition where the first batch begins; each further batch continues after the last row. */
  from?: string;
  order: string;
  renewLease: string;
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
  recurring_event: 'name',
  recurring_revision: 'bot_id',
  workflow: 'id',
  event: 'id',
  state: 'type, owner_id, name',
  tag: 'kind, tag_key(name), tag_key(value), created_at, object_id',
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
};

export type TombstoneTable = 'dropped_bot' | 'dropped_conversation';

/**
 * Cleanup queues `dropped_bot` and `dropped_conversation`. Rows are deleted by ctid, so that the planner cannot choose
 * a bad join.
 */
@Injectable()
export class ErasureRepository {
  constructor(
    private readonly database: Database,
    private readonly tags: TagsRepository,
  ) {}

  async insertBotTombstone(botId: string): Promise<void> {
    await this.database.query('INSERT INTO dropped_bot (bot_id) VALUES ($1) ON CONFLICT DO NOTHING', [botId]);
  }

  /** Claims due entries with a lease of one minute. */
  async claimTombstones(table: TombstoneTable, limit: number): Promise<Tombstone[]> {
    return this.database.query<Tombstone>(
      `UPDATE ${table} SET due_at = ${leaseEnd}
       WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM ${table} WHERE due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED))
       RETURNING *`,
      [limit],
    );
  }

  /** Deletes all rows of the bot in batches of at most `limit`. Yields the count of each batch. */
  async *deleteRowsOfBot({ bot_id }: Tombstone, limit: number): AsyncGenerator<number> {
    const renewLease = `UPDATE dropped_bot SET due_at = ${leaseEnd} WHERE bot_id = $1`;
    for (const [table, order] of Object.entries(tablesOfBot))
      yield* this.deleteInBatches({ renewLease, table, where: 'true', order }, [bot_id, limit]);
    yield* this.deleteSignals({ renewLease, where: 'true' }, [bot_id, limit]);
  }

  async *deleteRowsOfConversation({ bot_id, conversation_id }: Tombstone, limit: number): AsyncGenerator<number> {
    const values = [bot_id, limit, conversation_id];
    const renewLease = `UPDATE dropped_conversation SET due_at = ${leaseEnd} WHERE bot_id = $1 AND conversation_id = $3`;
    yield* this.deleteMessages(renewLease, values);
    for (const [table, rows] of Object.entries(tablesOfConversation))
      yield* this.deleteInBatches({ renewLease, table, ...rows }, values);
    yield* this.deleteSignals({ renewLease, where: 'conversation_id = $3' }, values);
  }

  /**
   * Called when no rows are left. Deletes the entry if no running request can still add rows; otherwise makes it due at
   * that time.
   */
  async settleTombstone(table: TombstoneTable, { bot_id, conversation_id }: Tombstone): Promise<void> {
    const [where, values] =
      table === 'dropped_bot'
        ? ['bot_id = $1', [bot_id]]
        : ['bot_id = $1 AND conversation_id = $2', [bot_id, conversation_id]];
    await this.database.query(
      `WITH done AS (DELETE FROM ${table} WHERE ${where} AND dropped_at + ${settledAfter} < now())
       UPDATE ${table} SET due_at = dropped_at + ${settledAfter} WHERE ${where} AND dropped_at + ${settledAfter} >= now()`,
      values,
    );
  }

  async countRowsOfBot(botId: string): Promise<ChatLeftovers> {
    const count = (table: string) => `(SELECT count(*) FROM ${table} WHERE bot_id = $1)`;
    const [counts] = await this.database.query<Record<keyof ChatLeftovers, string>>(
      `SELECT ${count('"user"')} AS users, ${count('conversation')} + ${count('conversation_clock')} AS conversations,
         ${count('participant')} AS participants, ${count('message')} + ${count('scheduled_message')} AS messages,
         ${count('event')} + ${count('recurring_event')} + ${count('recurring_revision')} AS events,
         ${count('state')} AS states, ${count('workflow')} AS workflows, ${count('tag')} AS tags,
         ${count('signal')} AS signals, ${count('idempotency_key')} AS "chatAnswers"`,
      [botId],
    );
    return Object.fromEntries(Object.entries(counts!).map(([name, text]) => [name, Number(text)])) as never;
  }

  /**
   * Keyset pagination: each batch starts after the last row, since the start of the index holds only dead entries by
   * then.
   */
  private async *deleteInBatches(
    { table, where, from = 'true', order, renewLease }: BatchDeletion,
    values: unknown[],
  ): AsyncGenerator<number> {
    for (let after: unknown[] | undefined, isFirst = true; isFirst || after; isFirst = false) {
      const [last] = await this.database.query<{ sort_key: unknown[]; count: number }>(
        `WITH taken AS (${renewLease}),
           batch AS MATERIALIZED (
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
  private async *deleteMessages(renewLease: string, values: unknown[]): AsyncGenerator<number> {
    for (let last: Tagged | undefined, isFirst = true; isFirst || last; isFirst = false) {
      const after = last && [last.conversation_id, last.created_at, last.id];
      const { where, from } = ofConversation;
      const rows = await this.database.transaction(async (tx) => {
        const gone = await tx.query<Tagged & { tags: Record<string, string> }>(
          `WITH taken AS (${renewLease}),
             gone AS (
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
  private async *deleteSignals(
    deletion: Pick<BatchDeletion, 'where' | 'renewLease'>,
    values: unknown[],
  ): AsyncGenerator<number> {
    const partitions = await this.database.query<{ name: string }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'signal'::regclass`,
    );
    for (const { name: table } of partitions)
      yield* this.deleteInBatches({ table, order: 'conversation_id, number', ...deletion }, values);
  }
}

function isAfterKey(order: string, key: unknown[], valuesBefore: number): string {
  return `(${order}) > (${key.map((_, index) => `$${valuesBefore + 1 + index}`).join(', ')})`;
}
