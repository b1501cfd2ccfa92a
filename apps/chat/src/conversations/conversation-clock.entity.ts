import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity } from 'typeorm';

/** Logical clock and lock of a conversation: every writer updates this row first. */
@Entity('conversation_clock')
export class ConversationClockEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() conversation_id!: string;

  /** `-Infinity` before the first message. */
  @Column({ type: 'timestamptz', precision: 3, default: '-infinity' }) last_message_at!: Date | number;

  @Column('integer', { default: 0 }) message_count!: number;

  /** `bigint`, which arrives as text. */
  @Column('bigint', { default: 0 }) signal_count!: string;

  /**
   * Number of removed participants: a writer that waited for the lock compares it to see whether somebody was removed.
   */
  @Column('integer', { default: 0 }) removals!: number;
}
