import type { IndexingStage } from '@parley/contracts/indexing-work';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, Index } from 'typeorm';

/** `content`: passages are made from the bytes. `passages`: they exist already, and lack only their vectors. */
export type JobSource = 'content' | 'passages';

/** Job of a content version, from its announcement until it is indexed. */
@Entity('indexing_job')
@Check('indexing_job_stage_check', `stage IN ('announced', 'taken', 'parsed', 'embedding', 'written', 'switching')`)
@Check('indexing_job_source_check', `source IN ('content', 'passages')`)
@Index('indexing_job_bot', ['bot_id'])
@Index('indexing_job_created', ['created_at', 'file_id', 'content_version'])
@Index('indexing_job_waiting', ['bot_id', 'created_at'], { where: 'lease IS NULL' })
export class IndexingJobEntity {
  @PrimaryIdColumn() file_id!: string;
  @PrimaryIdColumn() content_version!: string;
  @IdColumn() bot_id!: string;
  @Column('text', { default: 'announced' }) stage!: IndexingStage;
  @Column('integer', { default: 0 }) attempts!: number;

  /** Process that holds the job. */
  @Column('text', { nullable: true }) taken_by!: string | null;

  /** Lease of the holder, without which nothing may be written. */
  @IdColumn({ nullable: true }) lease!: string | null;

  @Column('timestamptz', { nullable: true }) heartbeat_at!: Date | null;

  /** Time of the last announcement. `-infinity`, which arrives as a number, if the job is to be announced at once. */
  @Column('timestamptz', { default: () => 'now()' }) announced_at!: Date | number;

  @Column('integer', { default: 1 }) announcements!: number;
  @Column('integer', { nullable: true }) passages!: number | null;
  @Column('integer', { default: 0 }) passages_written!: number;
  @Column('text', { nullable: true }) last_error!: string | null;
  @Column('text', { default: 'content' }) source!: JobSource;

  /** Fraction of the document that is done, from 0 to 1. */
  @Column('real', { default: 0 }) part!: number;

  /** Estimate of the worker for the rest of the stage; null while unknown. */
  @Column('integer', { nullable: true }) seconds_left!: number | null;

  @TimestampColumn() created_at!: Date;

  /** Time before which a released job is not taken again. */
  @Column('timestamptz', { default: () => 'now()' }) due_at!: Date;

  /** W3C trace context of the request that caused the job, if it was traced. */
  @Column('text', { nullable: true }) traceparent!: string | null;
}

/** Fair scheduling: time at which a job of the bot was last taken. A bot without a row comes first. */
@Entity('indexing_turn')
export class IndexingTurnEntity {
  @PrimaryIdColumn() bot_id!: string;
  @Column('timestamptz') taken_at!: Date;
}
