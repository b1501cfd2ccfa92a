import { Injectable } from '@nestjs/common';
import {
  type DeliveryAttempt,
  eventsSettled,
  type ListDeliveries,
  type SettledStatus,
} from '@parley/contracts/runtime/deliveries';
import { insertEventsOf, Outbox } from '@parley/events/outbox';
import { Database } from '@parley/persistence/database';
import { deleteOlder } from '@parley/persistence/delete-older';
import { newId } from '@parley/persistence/ids';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { toJsonb } from '@parley/persistence/storable';
import { currentTraceparent } from '@parley/tracing/tracing';
import { type DeliveryPayload, deliveryQueue } from './delivery-queues';
import type { DeliveryEntity } from './delivery.entity';

const maxAttempts = 10;

export interface Settlement {
  bot_id: string;
  event_id: string;
  type: string;
  /** How many times the event was replayed before. */
  replays: number;
  status: SettledStatus;
  reason: string | null;
  /** Attempts that are not recorded yet. */
  attempts: DeliveryAttempt[];
  created_at: Date;
}

export interface ListedDelivery extends Omit<DeliveryEntity, 'status'> {
  status: SettledStatus | 'pending' | 'parked';
}

export type WaitingDelivery = DeliveryPayload & Pick<Settlement, 'created_at'> & { isTried: boolean };

/** The latest attempts of both. */
const joined = `(SELECT coalesce(jsonb_agg(attempt ORDER BY number), '[]') FROM (
    SELECT attempt, number FROM jsonb_array_elements(delivery.attempts || excluded.attempts)
      WITH ORDINALITY AS entry (attempt, number) ORDER BY number DESC LIMIT ${maxAttempts}) AS latest)`;

const announced = insertEventsOf(eventsSettled, 'SELECT $2::text, $3::jsonb, $4::text');

@Injectable()
export class DeliveriesRepository {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
  ) {}

  /** Records the outcomes and announces them in one event, in one statement with its own commit. */
  async insertSettlements(settlements: Settlement[]): Promise<void> {
    const events = settlements.map(({ bot_id, event_id, replays, status, reason }) => ({
      ...{ botId: bot_id, eventId: event_id, replays, status },
      failureReason: reason,
    }));
    await this.database.query(
      `WITH recorded AS (
         INSERT INTO delivery (bot_id, event_id, type, replays, status, reason, attempts, created_at, settled_at)
         SELECT bot_id, event_id, type, replays, status, reason, attempts, created_at, now()
         FROM jsonb_populate_recordset(NULL::delivery, $1)
         ON CONFLICT (bot_id, event_id) DO UPDATE SET replays = excluded.replays, status = excluded.status,
           reason = excluded.reason, settled_at = excluded.settled_at, attempts = ${joined})
       ${announced}`,
      [toJsonb(settlements), newId('outbox'), toJsonb({ events }), currentTraceparent() ?? null],
      'insert_settlements',
    );
    this.outbox.wake();
  }

  /** Records an attempt that did not settle the delivery. Returns the attempts since it was announced. */
  async insertAttempt({
    attempt,
    created_at,
    ...delivery
  }: Omit<Settlement, 'status' | 'attempts'> & { attempt: DeliveryAttempt }): Promise<DeliveryAttempt[]> {
    const { bot_id, event_id, type, replays, reason } = delivery;
    const [row] = await this.database.query<Pick<DeliveryEntity, 'attempts'>>(
      `INSERT INTO delivery (bot_id, event_id, type, replays, reason, attempts, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (bot_id, event_id) DO UPDATE SET status = NULL, settled_at = NULL, reason = excluded.reason,
         replays = excluded.replays,
         attempts = CASE WHEN delivery.status IS NULL THEN ${joined} ELSE excluded.attempts END
       RETURNING attempts`,
      [bot_id, event_id, type, replays, reason, toJsonb([attempt]), created_at],
    );
    return row!.attempts;
  }

  /** Replays of the event before its settled delivery; undefined if it is not settled. Primary key. */
  async findSettled(botId: string, eventId: string): Promise<number | undefined> {
    const [row] = await this.database.query<Pick<DeliveryEntity, 'replays'>>(
      'SELECT replays FROM delivery WHERE bot_id = $1 AND event_id = $2 AND settled_at IS NOT NULL',
      [botId, eventId],
      'find_settled',
    );
    return row?.replays;
  }

  /** Those of the events that have no settled delivery, in the given order. Primary key. */
  async findUnsettled(botId: string, eventIds: string[]): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      `SELECT id FROM unnest($2::text[]) WITH ORDINALITY AS event (id, index)
       WHERE NOT EXISTS (SELECT FROM delivery WHERE bot_id = $1 AND event_id = event.id AND settled_at IS NOT NULL)
       ORDER BY index`,
      [botId, eventIds],
      'find_unsettled',
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Newest events first: settled deliveries, and work that waits. Primary keys of both; with a status, index
   * delivery_status.
   */
  async listDeliveries({
    botId,
    status,
    eventId,
    ...query
  }: ListDeliveries): Promise<{ rows: ListedDelivery[]; nextToken?: string }> {
    const limit = pageSize(query);
    const values: unknown[] = [botId, deliveryQueue.name, status ?? null, eventId ?? null];
    const newestFirst = new Keyset<ListedDelivery>(
      [{ sql: 'event_id', type: 'text', of: (row) => row.event_id }],
      'desc',
    );
    const boundTo = [botId, status, eventId];
    const rows = await this.database.query<ListedDelivery>(
      `WITH waiting AS (
         SELECT payload ->> 'eventId' AS event_id, payload ->> 'type' AS type,
           CASE state WHEN 'parked' THEN 'parked' ELSE 'pending' END AS status, last_error AS reason, created_at
         FROM work WHERE queue = $2 AND key > $1 || '/' AND key < $1 || '0'),
       listed AS (
         SELECT coalesce(waiting.event_id, delivery.event_id) AS event_id,
           coalesce(waiting.type, delivery.type) AS type,
           coalesce(waiting.status, delivery.status, 'pending') AS status,
           coalesce(waiting.reason, delivery.reason) AS reason,
           coalesce(delivery.attempts, '[]') AS attempts,
           coalesce(waiting.created_at, delivery.created_at) AS created_at,
           CASE WHEN waiting.event_id IS NULL THEN delivery.settled_at END AS settled_at
         FROM waiting FULL JOIN (SELECT * FROM delivery WHERE bot_id = $1) AS delivery USING (event_id))
       SELECT $1 AS bot_id, * FROM listed
       WHERE ($3::text IS NULL OR status = $3) AND ($4::text IS NULL OR event_id = $4)
         AND ${newestFirst.after(query.nextToken, boundTo, values)}
       ORDER BY ${newestFirst.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestFirst.page(rows, limit, boundTo);
  }

  /**
   * Deliveries of the bot that are parked, wait behind others or are being tried, beyond the newest `keepNewest`: the
   * oldest `limit` of them, oldest first. Primary key.
   */
  async listOldestBeyond(botId: string, keepNewest: number, limit: number): Promise<WaitingDelivery[]> {
    const rows = await this.database.query<Omit<WaitingDelivery, keyof DeliveryPayload> & { payload: DeliveryPayload }>(
      `SELECT payload, created_at, state = 'running' AS "isTried" FROM (
         SELECT id, payload, created_at, state FROM work
         WHERE queue = $2 AND key > $1 || '/' AND key < $1 || '0' AND state IN ('parked', 'queued', 'running')
         ORDER BY id DESC OFFSET $3) AS older
       ORDER BY id LIMIT $4`,
      [botId, deliveryQueue.name, keepNewest, limit],
    );
    return rows.map(({ payload, ...row }) => ({ ...payload, ...row }));
  }

  /** Index delivery_settled. */
  async deleteSettledBefore(days: number): Promise<void> {
    await deleteOlder(this.database, 'delivery', 'settled_at', days * 24);
  }

  /** Deletes up to `limit` records of the bot and returns their number. Primary key. */
  async deleteOfBot(botId: string, limit: number): Promise<number> {
    const rows = await this.database.query(
      `DELETE FROM delivery WHERE bot_id = $1
         AND event_id = ANY (ARRAY(SELECT event_id FROM delivery WHERE bot_id = $1 ORDER BY event_id LIMIT $2)) RETURNING 1`,
      [botId, limit],
    );
    return rows.length;
  }

  /** Records and waiting deliveries. Primary keys. */
  async countOfBot(botId: string): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      `SELECT (SELECT count(*) FROM delivery WHERE bot_id = $1)::int
         + (SELECT count(*) FROM work WHERE queue = $2 AND key > $1 || '/' AND key < $1 || '0')::int AS count`,
      [botId, deliveryQueue.name],
    );
    return row!.count;
  }
}
