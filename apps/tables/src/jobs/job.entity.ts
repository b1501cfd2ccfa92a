import type { BotCaller } from '@parley/contracts/access';
import type { Job, JobStatus } from '@parley/contracts/tables/jobs';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, ForeignKey, Index } from 'typeorm';
import type { EffectOnRows } from '../schema/effect-on-rows';

export const exportFormats = ['csv', 'json'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Caller of the job's requests to other services: the bot that started it, without the data of the single request. */
export type JobCaller = Omit<BotCaller, 'address' | 'traceparent' | 'idempotencyKey'>;

/** Payload of a job. It is stored, so later versions have to understand it. */
export type JobTask =
  | { type: 'export'; caller: JobCaller; format: ExportFormat; compress: boolean }
  /** @param contentVersion version of the file when it was first read */
  | { type: 'import'; caller: JobCaller; fileId: string; contentVersion?: string }
  | ({ type: 'clear_column' } & RowsToSettle)
  /** Applies a change that affects the search index only. */
  | ({ type: 'clear_vectors' } & RowsToSettle)
  /**
   * Copies the rows up to `lastRowId` into the job's table.
   * @param keys column keys of the source, mapped to those of the job's table
   */
  | { type: 'duplicate_table'; sourceNumber: string; lastRowId: number; keys: Record<string, string> };

/** Applies a change of columns to the rows up to `lastRowId`. */
export interface RowsToSettle {
  tableNumber: string;
  lastRowId: number;
  effect: EffectOnRows;
}

export type TaskOf<Type extends JobTask['type']> = Extract<JobTask, { type: Type }>;

/** Background job of a table. It is deleted with the table. */
@Entity('job')
@Check('job_status_check', `status IN ('pending', 'in_progress', 'finalizing', 'completed', 'failed')`)
@Index('job_table', ['table_id', 'id'])
@Index('job_unfinished', ['bot_id', 'id'], { where: `status IN ('pending', 'in_progress', 'finalizing')` })
export class JobEntity {
  @PrimaryIdColumn() id!: string;
  @IdColumn() bot_id!: string;
  @IdColumn() @ForeignKey('TableEntity', { onDelete: 'CASCADE' }) table_id!: string;
  @Column('text') type!: JobTask['type'];
  @Column('text', { default: 'pending' }) status!: JobStatus;
  @Column('jsonb') task!: JobTask;
  @Column('text', { nullable: true }) input_file_id!: string | null;
  @Column('text', { nullable: true }) output_file_id!: string | null;
  @Column('integer', { default: 0 }) progress!: number;

  /** Progress in units of the type, updated in the transaction of the work. `bigint`, which arrives as text. */
  @Column('bigint', { default: 0 }) position!: string;

  /** `bigint`, which arrives as text. */
  @Column('bigint', { default: 0 }) rows!: string;

  /** `bigint`, which arrives as text. */
  @Column('bigint', { default: 0 }) failed_rows!: string;

  /** First errors of single rows. */
  @Column('text', { array: true, default: [] }) errors!: string[];

  @Column('text', { array: true, default: [] }) warnings!: string[];
  @Column('text', { nullable: true }) failed_reason!: string | null;
  @TimestampColumn() created_at!: Date;
  @TimestampColumn() updated_at!: Date;
}

/** Job with `bigint` converted to numbers. */
export interface JobRow<Task extends JobTask = JobTask> extends Omit<
  JobEntity,
  'type' | 'task' | 'position' | 'rows' | 'failed_rows'
> {
  type: Task['type'];
  task: Task;
  position: number;
  rows: number;
  failed_rows: number;
}

export function toJob(row: JobRow): Job {
  return {
    id: row.id,
    botId: row.bot_id,
    tableId: row.table_id,
    type: row.type,
    status: row.status,
    progress: row.progress,
    inputFileId: row.input_file_id,
    outputFileId: row.output_file_id,
    rows: row.rows,
    failedRows: row.failed_rows,
    ...(row.errors.length > 0 ? { errors: row.errors } : {}),
    ...(row.warnings.length > 0 ? { warnings: row.warnings } : {}),
    ...(row.failed_reason === null ? {} : { failedStatusReason: row.failed_reason }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
