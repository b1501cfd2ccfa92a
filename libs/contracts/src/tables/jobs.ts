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

export class JobReference {
  @IsString() id!: string;
  @IsIn(jobStatuses) status!: JobStatus;
}

export class Job extends JobReference {
  @IsString() botId!: string;
  @IsString() tableId!: string;
  @IsIn(jobTypes) type!: JobType;

  /** Percent, from 0 to 100. */
  @IsInt() progress!: number;

  @Nullable() @IsString() inputFileId!: string | null;
  @Nullable() @IsString() outputFileId!: string | null;
  @IsString() createdAt!: string;
  @IsString() updatedAt!: string;

  /** Reason of the failure, and a remedy. The work done before it is kept. */
  @Optional() @IsString() failedStatusReason?: string;

  /** Rows imported, exported, copied or cleared so far. */
  @IsInt() rows!: number;

  @IsInt() failedRows!: number;

  /** Problems of the first 100 failed rows, with their positions in the file. */
  @Optional() @IsString({ each: true }) errors?: string[];

  /** Omissions that affected no row. */
  @Optional() @IsString({ each: true }) warnings?: string[];
}

export class JobReply {
  @Nested(Job) job!: Job;
}

export class Jobs {
  @ListOf(Job) jobs!: Job[];
}

export class ExportTable {
  /** Name or id of the table. */
  @PathParam() table!: string;

  /** Default: CSV. */
  @QueryChoice(['csv', 'json']) format?: 'csv' | 'json';

  /** Gzip compression, true by default: a `.csv.gz` or `.json.gz` file with the content type `application/gzip`. */
  @QueryBoolean() compress?: boolean;
}

export class ImportTable {
  /** Name or id of the table. */
  @PathParam() table!: string;

  /** Id of a file of the bot: CSV, a JSON array of rows, or one JSON row per line; optionally compressed with gzip. */
  @IsString() fileId!: string;
}
