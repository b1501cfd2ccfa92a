import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Cleanup queue entry: a deleted conversation whose rows are still to be erased. */
@Entity('dropped_conversation')
@Index('dropped_conversation_due', ['due_at'])
export class DroppedConversationEntity {
  @PrimaryIdColumn()
  bot_id!: string;

  @PrimaryIdColumn()
  conversation_id!: string;

  @Column('timestamptz', { default: () => 'now()' })
  dropped_at!: Date;

  @Column('timestamptz', { default: () => 'now()' })
  due_at!: Date;
}

/** Cleanup queue entry: a deleted bot whose rows are still to be erased. */
@Entity('dropped_bot')
@Index('dropped_bot_due', ['due_at'])
export class DroppedBotEntity {
  @PrimaryIdColumn()
  bot_id!: string;

  @Column('timestamptz', { default: () => 'now()' })
  dropped_at!: Date;

  @Column('timestamptz', { default: () => 'now()' })
  due_at!: Date;
}
