import type { DeliveryAttempt, SettledStatus } from '@parley/contracts/runtime/deliveries';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Record of a delivery: its attempts, and its outcome once it is settled. */
@Entity('delivery')
@Index('delivery_status', ['bot_id', 'status', 'event_id'], { where: 'status IS NOT NULL' })
@Index('delivery_settled', ['settled_at'], { where: 'settled_at IS NOT NULL' })
export class DeliveryEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() event_id!: string;
  @IdColumn() type!: string;

  /** How many times the event was replayed before. */
  @Column('integer') replays!: number;

  /** Null until an attempt has settled it. */
  @Column('text', { nullable: true }) status!: SettledStatus | null;

  @Column('text', { nullable: true }) reason!: string | null;
  @Column('jsonb') attempts!: DeliveryAttempt[];
  @Column({ type: 'timestamptz', precision: 3 }) created_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) settled_at!: Date | null;
}
