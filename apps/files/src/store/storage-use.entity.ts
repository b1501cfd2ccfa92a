import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Storage usage of a bot, in slots that different connections write. A trigger on `file` maintains the sums. */
@Entity('storage_use')
@Index('storage_use_changed', ['bot_id'], { where: 'is_changed' })
export class StorageUseEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryColumn('smallint') slot!: number;

  /** `bigint`, which arrives as text. */
  @Column('bigint') file_bytes!: string;

  /** `bigint`, which arrives as text. */
  @Column('bigint') vector_bytes!: string;

  /** Changed since the last report to admin. */
  @Column('boolean', { default: true }) is_changed!: boolean;
}

/** Workspace whose quotas count the bot's usage. */
@Entity('bot_home')
@Index('bot_home_workspace', ['workspace_id'])
export class BotHomeEntity {
  @PrimaryIdColumn() bot_id!: string;
  @IdColumn() workspace_id!: string;

  /** Last applied transfer event: of two events in the wrong order, the newer one wins. */
  @IdColumn({ nullable: true }) moved_by!: string | null;
}
