import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { DeliveryAttempt, SettledStatus } from '@parley/contracts/runtime/deliveries';
import { Database } from '@parley/persistence/database';
import { deleteOlder } from '@parley/persistence/delete-older';
import { toJsonb } from '@parley/persistence/storable';
import type { Repository } from 'typeorm';
import { MessageDeliveryEntity } from './message-delivery.entity';
import type { MessageDeliveryPayload } from './message-delivery-queue';

export interface MessageOutcome {
  /** Null for an attempt that does not settle the delivery. */
  status: SettledStatus | null;
  reason: string | null;
  attempts: DeliveryAttempt[];
}

@Injectable()
export class MessageDeliveriesRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(MessageDeliveryEntity) private readonly deliveries: Repository<MessageDeliveryEntity>,
  ) {}

  /** Adds attempts to the record. Returns all of them. Primary key. */
  async storeOutcome(
    { botId, id, conversationId, change }: MessageDeliveryPayload,
    { status, reason, attempts }: MessageOutcome,
  ): Promise<DeliveryAttempt[]> {
    const [row] = await this.database.query<Pick<MessageDeliveryEntity, 'attempts'>>(
      `INSERT INTO message_delivery (bot_id, id, conversation_id, change, status, reason, attempts, created_at, settled_at)
       VALUES ($1, $2, $3, $7, $4, $5, $6, now(), CASE WHEN $4::text IS NOT NULL THEN now() END)
       ON CONFLICT (bot_id, id) DO UPDATE SET status = excluded.status, reason = excluded.reason,
         attempts = message_delivery.attempts || excluded.attempts, settled_at = excluded.settled_at
       RETURNING attempts`,
      [botId, id, conversationId, status, reason, toJsonb(attempts), change ?? null],
      'store_message_outcome',
    );
    return row!.attempts;
  }

  /** Those of the messages and changes that have no settled delivery, in the given order. Primary key. */
  async findUnsettled(botId: string, ids: string[]): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      `SELECT id FROM unnest($2::text[]) WITH ORDINALITY AS message (id, index)
       WHERE NOT EXISTS (
         SELECT FROM message_delivery delivery
         WHERE bot_id = $1 AND delivery.id = message.id AND settled_at IS NOT NULL)
       ORDER BY index`,
      [botId, ids],
      'find_unsettled_messages',
    );
    return rows.map(({ id }) => id);
  }

  /** Index message_delivery_settled. */
  async deleteSettledBefore(days: number): Promise<void> {
    await deleteOlder(this.database, 'message_delivery', 'settled_at', days * 24);
  }

  async deleteOfBot(botId: string): Promise<void> {
    await this.deliveries.delete({ bot_id: botId });
  }

  countOfBot(botId: string): Promise<number> {
    return this.deliveries.countBy({ bot_id: botId });
  }
}
