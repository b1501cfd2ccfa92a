import type { BotCaller } from '@parley/contracts/access';
import type { Job, JobStatus } from '@parley/contracts/tables/jobs';
import type { EffectOnRows } from '../tables/effect-on-rows';
import type { ExportFormat } from './written-rows';

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

/** Row of `job`, with `bigint` converted to numbers. */
export interface JobRow<Task extends JobTask = JobTask> {
  id: string;
  bot_id: string;
  table_id: string;
  type: Task['type'];
  status: JobStatus;
  task: Task;
  input_file_id: string | null;
  output_file_id: string | null;
  progress: number;
  position: number;
  rows: number;
  failed_rows: number;
  errors: string[];
  warnings: string[];
  failed_reason: string | null;
  attempts: number;
  created_at: Date;
  updated_at: Date;
}

/** Claimed job. `lease` is a fencing token: a worker that has lost the job cannot write to it. */
export interface TakenJob<Task extends JobTask = JobTask> extends JobRow<Task> {
  lease: string;
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
