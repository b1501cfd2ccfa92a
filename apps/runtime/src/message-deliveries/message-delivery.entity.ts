import type { DeliveryAttempt, SettledStatus } from '@parley/contracts/runtime/deliveries';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Delivery of a message of the bot to the integration of its conversation. */
@Entity('message_delivery')
@Index('message_delivery_settled', ['settled_at'], { where: 'settled_at IS NOT NULL' })
export class MessageDeliveryEntity {
  @PrimaryIdColumn()
  bot_id!: string;

  @PrimaryIdColumn()
  message_id!: string;

  @IdColumn()
  conversation_id!: string;

  /** Null until an attempt has settled it. */
  @Column('text', { nullable: true })
  status!: SettledStatus | null;

  @Column('text', { nullable: true })
  reason!: string | null;

  /** Oldest first. */
  @Column('jsonb')
  attempts!: DeliveryAttempt[];

  @Column({ type: 'timestamptz', precision: 3 })
  created_at!: Date;

  @Column({ type: 'timestamptz', precision: 3, nullable: true })
  settled_at!: Date | null;
}
