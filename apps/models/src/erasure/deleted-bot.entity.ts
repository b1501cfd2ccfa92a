import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity } from 'typeorm';

/** Tombstone of a deleted bot: a call that was under way leaves nothing behind. */
@Entity('deleted_bot')
export class DeletedBotEntity {
  @PrimaryIdColumn() bot_id!: string;
  @Column('timestamptz', { default: () => 'now()' }) deleted_at!: Date;
}
