import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity } from 'typeorm';

/** Tombstone: a deleted bot whose rows are still to be erased. */
@Entity('dropped_bot')
export class DroppedBotEntity {
  @PrimaryIdColumn() bot_id!: string;
}

/** Whether events are delivered to a bot, as admin announced it last. Bots without a row are not called. */
@Entity('called_bot')
export class CalledBotEntity {
  @PrimaryIdColumn() bot_id!: string;
  @Column('boolean') is_called!: boolean;

  /** Newest revision of the bot, so that an older one that arrives late has no effect. `bigint`, which arrives as text. */
  @Column('bigint') revision!: string;
}
