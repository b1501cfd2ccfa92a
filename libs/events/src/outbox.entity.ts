import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Event of a service, written in the transaction of its change and published by the relay. */
@Entity('outbox')
@Check('outbox_check', '(repeats IS NULL) = (consumer IS NULL)')
@Index('outbox_unpublished', ['id'], { where: 'published_at IS NULL' })
@Index('outbox_published', ['published_at'], { where: 'published_at IS NOT NULL' })
export class OutboxEntity {
  @PrimaryIdColumn() id!: string;
  @Column('text') subject!: string;
  @Column('jsonb') data!: unknown;
  @Column('timestamptz', { default: () => 'now()' }) created_at!: Date;
  @Column('timestamptz', { nullable: true }) published_at!: Date | null;

  /** Event that is handed to `consumer` alone, once more. */
  @IdColumn({ nullable: true }) repeats!: string | null;

  @Column('text', { nullable: true }) consumer!: string | null;
  @Column('text', { nullable: true }) traceparent!: string | null;
}

/** Position in the stream of the last published event. One row. */
@Entity('outbox_place')
@Check('outbox_place_singleton_check', 'singleton')
export class OutboxPositionEntity {
  @PrimaryColumn('boolean') singleton!: true;

  /** `bigint`, which arrives as text. */
  @Column('bigint') sequence!: string;

  @Column('text') message_id!: string;
}
