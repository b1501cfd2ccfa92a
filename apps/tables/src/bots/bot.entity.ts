import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity } from 'typeorm';

/** Whether a bot defines `tablesRecomputeRows`, as admin announced it last. Bots without a row do not. */
@Entity('computing_bot')
export class ComputingBotEntity {
  @PrimaryIdColumn() bot_id!: string;
  @Column('boolean') computes_rows!: boolean;

  /** Newest revision of the bot, so that an older one that arrives late has no effect. `bigint`, which arrives as text. */
  @Column('bigint') revision!: string;
}

/** Workspace of a bot: its budgets pay for the language models that compute columns. */
@Entity('bot_home')
export class BotHomeEntity {
  @PrimaryIdColumn() bot_id!: string;
  @IdColumn() workspace_id!: string;

  /** Last applied transfer event: of two events in the wrong order, the newer one wins. */
  @IdColumn({ nullable: true }) moved_by!: string | null;
}

/** Tombstone of a deleted bot: new tables are refused. */
@Entity('deleted_bot')
export class DeletedBotEntity {
  @PrimaryIdColumn() bot_id!: string;
  @Column('timestamptz', { default: () => 'now()' }) deleted_at!: Date;
}
