import type { ChangeOperation } from '@parley/contracts/chat/outgoing-messages';
import type { DeliveryAttempt, SettledStatus } from '@parley/contracts/runtime/deliveries';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Delivery of a message of the bot, or of a change, to the integration of its conversation. */
@Entity('message_delivery')
@Index('message_delivery_settled', ['settled_at'], { where: 'settled_at IS NOT NULL' })
export class MessageDeliveryEntity {
  @PrimaryIdColumn() bot_id!: string;

  /** Id of the message or change. */
  @PrimaryIdColumn() id!: string;

  /** Null for a message. */
  @Column('text', { nullable: true }) change!: ChangeOperation | null;

  @IdColumn() conversation_id!: string;

  /** Null until an attempt has settled it. */
  @Column('text', { nullable: true }) status!: SettledStatus | null;

  @Column('text', { nullable: true }) reason!: string | null;

  /** Oldest first. */
  @Column('jsonb') attempts!: DeliveryAttempt[];

  @Column({ type: 'timestamptz', precision: 3 }) created_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) settled_at!: Date | null;
}
