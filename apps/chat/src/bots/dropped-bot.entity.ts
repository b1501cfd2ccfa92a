import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Entity } from 'typeorm';

/** Tombstone: a deleted bot whose rows are still to be erased. */
@Entity('dropped_bot')
export class DroppedBotEntity {
  @PrimaryIdColumn() bot_id!: string;
}
