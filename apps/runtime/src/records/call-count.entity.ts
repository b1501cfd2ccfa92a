import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Calls of one bot in one month. */
@Entity('call_count')
@Index('call_count_report', ['report_at'], { where: 'report_at IS NOT NULL' })
export class CallCountEntity {
  @PrimaryIdColumn() bot_id!: string;

  /** UTC, formatted as 2026-01. */
  @PrimaryIdColumn() month!: string;

  /** Workspace of the bot at its latest call. */
  @IdColumn() workspace_id!: string;

  /** `bigint`, which arrives as text. */
  @Column('bigint') calls!: string;

  @Column({ type: 'timestamptz', precision: 3, nullable: true }) reported_at!: Date | null;

  /** Time of the next report. Null once the total is reported. */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) report_at!: Date | null;
}
