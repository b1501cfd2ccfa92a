import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity } from 'typeorm';

/** Tombstone of a deleted bot: new tables are refused. */
@Entity('deleted_bot')
export class DeletedBotEntity {
  @PrimaryIdColumn() bot_id!: string;
  @Column('timestamptz', { default: () => 'now()' }) deleted_at!: Date;
}
