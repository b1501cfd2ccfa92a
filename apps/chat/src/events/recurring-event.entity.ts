import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Recurring event of the bot's definition, with its next due time. */
@Entity('recurring_event')
@Index('recurring_event_due', ['next_at'], { where: 'next_at IS NOT NULL' })
// Expression: the time when next_at was computed.
@Index('recurring_event_computed', { synchronize: false })
export class RecurringEventEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() name!: string;
  @IdColumn() type!: string;
  @Column('jsonb') payload!: Record<string, unknown>;
  @Column('text') cron!: string;

  /** Null if the expression never matches again. */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) next_at!: Date | null;

  /**
   * Distance of `next_at` from the time of its computation. If `next_at` is further away than that, the clock went back
   * since, and it is computed again. 0: always computed again.
   */
  @Column('integer', { default: 0 }) period_seconds!: number;

  /** Failures since the last success, and since the event was changed. */
  @Column('integer', { default: 0 }) failed_attempts!: number;

  /** Time of the last change of `failed_attempts`, strictly increasing. */
  @Column({ type: 'timestamptz', precision: 3, default: '-infinity' }) settled_at!: Date;
}

/** Newest stored revision of the bot's recurring events, so that an older one that arrives late has no effect. */
@Entity('recurring_revision')
export class RecurringRevisionEntity {
  @PrimaryIdColumn() bot_id!: string;

  /** `bigint`, which arrives as text. */
  @Column('bigint') revision!: string;
}
