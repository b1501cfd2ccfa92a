import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity } from 'typeorm';

/** Deleted bot, for which all writes are rejected. */
@Entity('deleted_bot')
export class DeletedBotEntity {
  @PrimaryIdColumn() bot_id!: string;
  @Column('timestamptz', { default: () => 'now()' }) deleted_at!: Date;
  @Column('timestamptz', { nullable: true }) erased_at!: Date | null;
}
