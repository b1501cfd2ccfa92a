import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, ForeignKey } from 'typeorm';

/** Failure state of a recurring event of the bot's own definition, since it was defined. */
@Entity('recurring_failure')
export class RecurringFailureEntity {
  @PrimaryIdColumn() @ForeignKey('BotEntity', { onDelete: 'CASCADE' }) bot_id!: string;
  @PrimaryIdColumn() name!: string;

  /** 0 after a success. */
  @Column('integer') failed_attempts!: number;

  @Column('text', { nullable: true }) last_failure_reason!: string | null;

  /** Newest state, so that an older one that arrives late has no effect. `bigint`, which arrives as text. */
  @Column('bigint') revision!: string;
}
