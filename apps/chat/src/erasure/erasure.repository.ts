import { Injectable } from '@nestjs/common';
import type { ChatLeftovers } from '@parley/contracts/chat/leftovers';
import { Database } from '@parley/database/database';
import { type Tagged, TagsRepository } from '../tags/tags.repository';

/** A conversation of a bot, or all of it. */
export interface Dropped {
  bot_id: string;
  conversation_id?: string;
}

/** Requests that were under way when something was dropped have ended after as long. */
const settledAfter = `interval '5 minutes'`;
/** Whoever takes a note shows itself with each batch: without a sign for as long, another one goes on. */
const nextTurn = `now() + interval '1 minute'`;

/** Rows that are to go. `$1` is their bot, `$2` the limit of a batch; the note is changed with each. */
interface Going {
  table: string;
  where: string;
  /** Where the first batch begins; the others begin behind the last one. */
  from?: string;
  /** Unique among them. */
  order: string;
  note: string;
}

/**
 * Every table with rows of a bot, and how its index goes through them: so that a batch begins where the last one ended. What others
 * hang on is first, so that nothing new comes to it.
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

/** A conversation bounded from both sides, as by `LeadingColumn`: its rows stand before those of the bot's whole index. */
const ofConversation = { where: 'conversation_id <= $3', from: 'conversation_id >= $3' };
const orderOfMessages = 'conversation_id, created_at, id';

/** The same for what a conversation leaves behind, with the condition that finds it. */
const tablesOfConversation = {
  conversation_clock: { where: 'conversation_id = $3', order: 'conversation_id' },
  participant: { where: 'conversation_id = $3', order: 'user_id' },
  scheduled_message: { ...ofConversation, order: 'conversation_id, id' },
  state: { where: `type = 'conversation' AND owner_id = $3`, order: 'name' },
  event: { ...ofConversation, order: 'conversation_id, id' },
};

export type Note = 'dropped_bot' | 'dropped_conversation';

/** What is out of reach, until it is gone. Rows are named by their places, so that no join can be planned badly. */
@Injectable()
export class ErasureRepository {
  constructor(
    private readonly database: Database,
    private readonly tags: TagsRepository,
  ) {}

  async dropBot(botId: string): Promise<void> {
    await this.database.query('INSERT INTO dropped_bot (bot_id) VALUES ($1) ON CONFLICT DO NOTHING', [botId]);
  }

  /** Notes that are due, not due again for a minute. */
  async take(note: Note, limit: number): Promise<Dropped[]> {
    return this.database.query<Dropped>(
      `UPDATE ${note} SET due_at = ${nextTurn}
       WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM ${note} WHERE due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED))
       RETURNING *`,
      [limit],
    );
  }

  /** Deletes all rows of the bot, at most so many at once: how many, each time. */
  async *deleteOfBot({ bot_id }: Dropped, limit: number): AsyncGenerator<number> {
    const note = `UPDATE dropped_bot SET due_at = ${nextTurn} WHERE bot_id = $1`;
    for (const [table, order] of Object.entries(tablesOfBot))
      yield* this.deleteAll({ note, table, where: 'true', order }, [bot_id, limit]);
    yield* this.deleteSignals({ note, where: 'true' }, [bot_id, limit]);
  }

  /** Deletes all rows that the conversation left behind, at most so many at once: how many, each time. */
  async *deleteOfConversation({ bot_id, conversation_id }: Dropped, limit: number): AsyncGenerator<number> {
    const values = [bot_id, limit, conversation_id];
    const note = `UPDATE dropped_conversation SET due_at = ${nextTurn} WHERE bot_id = $1 AND conversation_id = $3`;
    yield* this.deleteMessages(note, values);
    for (const [table, rows] of Object.entries(tablesOfConversation))
      yield* this.deleteAll({ note, table, ...rows }, values);
    yield* this.deleteSignals({ note, where: 'conversation_id = $3' }, values);
  }

  /** Nothing is left of it: the note goes once nobody can have added anything since, and is due again by then. */
  async settle(note: Note, { bot_id, conversation_id }: Dropped): Promise<void> {
    const [where, values] =
      note === 'dropped_bot'
        ? ['bot_id = $1', [bot_id]]
        : ['bot_id = $1 AND conversation_id = $2', [bot_id, conversation_id]];
    await this.database.query(
      `WITH done AS (DELETE FROM ${note} WHERE ${where} AND dropped_at + ${settledAfter} < now())
       UPDATE ${note} SET due_at = dropped_at + ${settledAfter} WHERE ${where} AND dropped_at + ${settledAfter} >= now()`,
      values,
    );
  }

  /** Reads all rows of the bot. */
  async count(botId: string): Promise<ChatLeftovers> {
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

  /** One batch begins behind the last: at the front there is nothing but what the index has not forgotten yet. */
  private async *deleteAll(
    { table, where, from = 'true', order, note }: Going,
    values: unknown[],
  ): AsyncGenerator<number> {
    for (let after: unknown[] | undefined, isFirst = true; isFirst || after; isFirst = false) {
      const [last] = await this.database.query<{ place: unknown[]; count: number }>(
        `WITH taken AS (${note}),
           batch AS MATERIALIZED (
             SELECT ctid AS row_id, json_build_array(${order}) AS place, row_number() OVER (ORDER BY ${order}) AS nth
             FROM ${table} WHERE bot_id = $1 AND ${where} AND ${after ? isBehind(order, after, values.length) : from}
             ORDER BY ${order} LIMIT $2),
           gone AS (
             DELETE FROM ${table} WHERE bot_id = $1 AND ctid = ANY (ARRAY(SELECT row_id FROM batch)) RETURNING 1)
         SELECT place, (SELECT count(*)::int FROM gone) AS count FROM batch ORDER BY nth DESC LIMIT 1`,
        [...values, ...(after ?? [])],
      );
      after = last?.place;
      if (last) yield last.count;
    }
  }

  /** Of a conversation, with the rows of their tags. Indexes: message_of_conversation, tag_place. */
  private async *deleteMessages(note: string, values: unknown[]): AsyncGenerator<number> {
    for (let last: Tagged | undefined, isFirst = true; isFirst || last; isFirst = false) {
      const after = last && [last.conversation_id, last.created_at, last.id];
      const { where, from } = ofConversation;
      const rows = await this.database.transaction(async (tx) => {
        const gone = await tx.query<Tagged & { tags: Record<string, string> }>(
          `WITH taken AS (${note}),
             gone AS (
               DELETE FROM message WHERE bot_id = $1 AND ctid = ANY (ARRAY(
                 SELECT ctid FROM message
                 WHERE bot_id = $1 AND ${where} AND ${after ? isBehind(orderOfMessages, after, values.length) : from}
                 ORDER BY ${orderOfMessages} LIMIT $2))
               RETURNING bot_id, id, conversation_id, created_at, tags)
           SELECT * FROM gone ORDER BY created_at, id`,
          [...values, ...(after ?? [])],
        );
        await this.tags.removeAll(tx, 'message', gone);
        return gone;
      });
      last = rows.at(-1);
      if (last) yield rows.length;
    }
  }

  /** Table by table, since their places are those of one table. Index signal_place. */
  private async *deleteSignals(going: Pick<Going, 'where' | 'note'>, values: unknown[]): AsyncGenerator<number> {
    const partitions = await this.database.query<{ name: string }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'signal'::regclass`,
    );
    for (const { name: table } of partitions)
      yield* this.deleteAll({ table, order: 'conversation_id, number', ...going }, values);
  }
}

function isBehind(order: string, key: unknown[], valuesBefore: number): string {
  return `(${order}) > (${key.map((_, index) => `$${valuesBefore + 1 + index}`).join(', ')})`;
}
