import { IsIn, IsInt, IsString } from 'class-validator';
import { ListOf, Nested, Nullable, Optional } from '../fields';
import { PathParam, QueryBoolean, QueryChoice } from '../query-fields';

export const jobTypes = [
  'export',
  'import',
  'clear_column',
  'clear_vectors',
  'delete_rows',
  'duplicate_table',
] as const;
export type JobType = (typeof jobTypes)[number];

export const jobStatuses = ['pending', 'in_progress', 'finalizing', 'completed', 'failed'] as const;
export type JobStatus = (typeof jobStatuses)[number];

/** Work on a table that goes on after the request. */
export class JobReference {
  @IsString()
  id!: string;

  @IsIn(jobStatuses)
  status!: JobStatus;
}

export class Job extends JobReference {
  @IsString()
  botId!: string;

  @IsString()
  tableId!: string;

  @IsIn(jobTypes)
  type!: JobType;

  /** From 0 to 100. */
  @IsInt()
  progress!: number;

  @Nullable()
  @IsString()
  inputFileId!: string | null;

  @Nullable()
  @IsString()
  outputFileId!: string | null;

  @IsString()
  createdAt!: string;

  @IsString()
  updatedAt!: string;

  /** Why the job has failed, and what to do. What it has done until then stays. */
  @Optional()
  @IsString()
  failedStatusReason?: string;

  /** Rows that it has imported, exported, copied or cleared so far. */
  @IsInt()
  rows!: number;

  /** Rows that it could not import or copy. */
  @IsInt()
  failedRows!: number;

  /** What is wrong with the first 100 of these rows, with their places in the file. */
  @Optional()
  @IsString({ each: true })
  errors?: string[];

  /** What was left out without harm to a row. */
  @Optional()
  @IsString({ each: true })
  warnings?: string[];
}

export class JobReply {
  @Nested(Job)
  job!: Job;
}

export class Jobs {
  @ListOf(Job)
  jobs!: Job[];
}

export class ExportTable {
  /** Name or id of the table. */
  @PathParam()
  table!: string;

  /** CSV when absent. */
  @QueryChoice(['csv', 'json'])
  format?: 'csv' | 'json';

  /** By gzip, unless false: the file is a `.csv.gz` or a `.json.gz` then, whose content type is `application/gzip`. */
  @QueryBoolean()
  compress?: boolean;
}

export class ImportTable {
  /** Name or id of the table. */
  @PathParam()
  table!: string;

  /** Id of a file of the bot: CSV, or JSON with an array of rows or a row in each line; compressed by gzip or not. */
  @IsString()
  fileId!: string;
}
