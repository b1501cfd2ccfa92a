import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Monthly limits of a bot or workspace; without a row, and for a null, there is none. */
@Entity('budget')
@Check('budget_scope_check', `scope IN ('bot', 'workspace')`)
export class BudgetEntity {
  @PrimaryColumn('text') scope!: 'bot' | 'workspace';
  @PrimaryIdColumn() scope_id!: string;

  /** Billionths of a US dollar, as are all costs of this schema. */
  @Column({ type: 'bigint', nullable: true }) max_cost!: string | null;

  @Column({ type: 'bigint', nullable: true }) max_tokens!: string | null;

  /** Version of the amounts: an older one does not replace them. */
  @Column({ type: 'bigint', default: 0 }) version!: string;

  @TimestampColumn() updated_at!: Date;
}

/** Announced state of a budget: 80 % are used, or it refuses calls (100). */
@Entity('budget_notice')
@Check('budget_notice_scope_check', `scope IN ('bot', 'workspace')`)
export class BudgetNoticeEntity {
  @PrimaryColumn('text') scope!: 'bot' | 'workspace';
  @PrimaryIdColumn() scope_id!: string;
  @PrimaryIdColumn() month!: string;
  @PrimaryColumn('bigint') version!: string;
  @PrimaryColumn('integer') percent!: number;
}

/** Use of a bot or workspace in one month. */
@Entity('spend')
@Check('spend_scope_check', `scope IN ('bot', 'workspace')`)
export class SpendEntity {
  @PrimaryColumn('text') scope!: 'bot' | 'workspace';
  @PrimaryIdColumn() scope_id!: string;

  /** UTC, formatted as 2026-01. */
  @PrimaryIdColumn() month!: string;

  @Column({ type: 'bigint', default: 0 }) settled_cost!: string;
  @Column({ type: 'bigint', default: 0 }) settled_tokens!: string;

  /** Sum of the reservations of calls under way. */
  @Column({ type: 'bigint', default: 0 }) reserved_cost!: string;
  @Column({ type: 'bigint', default: 0 }) reserved_tokens!: string;
}

/** The most that a call under way can cost. One whose process died is settled after a while. */
@Entity('reservation')
@Index('reservation_renewed', ['renewed_at'])
export class ReservationEntity {
  @PrimaryIdColumn() id!: string;
  @IdColumn() bot_id!: string;
  @IdColumn() workspace_id!: string;
  @IdColumn() month!: string;
  @Column('bigint') cost!: string;
  @Column('bigint') tokens!: string;

  /** Use so far of a stream that has begun. */
  @Column({ type: 'bigint', nullable: true }) streamed_cost!: string | null;
  @Column({ type: 'bigint', nullable: true }) streamed_tokens!: string | null;

  /** The call, as far as it is known before the answer. */
  @Column('jsonb') call!: object;
  @TimestampColumn() renewed_at!: Date;
}
