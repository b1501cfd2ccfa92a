import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsString,
  Length,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { bot } from '../access';
import { JsonObject, JsonObjects, ListOf, MapOf, Nested, Open, Optional } from '../fields';
import { operation } from '../operation';
import { QueryInteger } from '../query-fields';
import { JobReference } from './jobs';
import { TableName } from './table-definition';
import { maxColumnName } from './table-schema';

export const maxRowsPerRequest = 1000;

/** Row ids are signed 32-bit integers. */
export const maxRowId = 2_147_483_647;

/**
 * Body limit of requests with rows. 1000 rows of 4 kB, the largest with the default `factor`, are 4 MB. Tables with the
 * largest factor (rows of 120 kB) need several requests.
 */
const maxRowsBytes = 16_000_000;

export const cellStatuses = ['pending', 'computed', 'failed'] as const;
export type CellStatus = (typeof cellStatuses)[number];

export class CellState {
  @IsIn(cellStatuses) status!: CellStatus;

  /** Reason why the value is missing, and a remedy. */
  @Optional() @IsString() error?: string;

  @Optional() @IsString() updatedBy?: string;
  @Optional() @IsString() updatedAt?: string;
}

/** Columns of the row by name, null for an empty cell, plus the metadata below. */
@Open()
export class Row {
  @IsInt() id!: number;

  /** Absent for a row that represents a group. */
  @Optional() @IsString() createdAt?: string;

  @Optional() @IsString() updatedAt?: string;

  /** By computed column. */
  @MapOf(CellState) computed!: Record<string, CellState>;

  /** Computed columns whose value belongs to an earlier state of the row. */
  @Optional() @IsString({ each: true }) stale?: string[];

  /** For a search: relevance by meaning and words, at least the cosine similarity to the search text and 1 at most. */
  @Optional() @IsNumber() similarity?: number;

  [column: string]: unknown;
}

export class RowReply {
  @Nested(Row) row!: Row;
}

export class GetTableRow extends TableName {
  @QueryInteger({ min: 1, max: maxRowId, required: true }) id!: number;
}

export class CreateTableRows extends TableName {
  /** Values by column. Invalid rows are reported in `errors`; the others are stored. */
  @JsonObjects({ minItems: 1, maxItems: maxRowsPerRequest }) rows!: Record<string, unknown>[];

  /** Waits for the computed columns; for a single row only. */
  @Optional() @IsBoolean() waitComputed?: boolean;
}

/** Each row needs its `id`; absent columns stay unchanged. */
export class UpdateTableRows extends CreateTableRows {}

export class UpsertTableRows extends CreateTableRows {
  /** Column that identifies an existing row. Default: `id`. */
  @Optional() @IsString() @Length(1, maxColumnName) keyColumn?: string;
}

/** Needs exactly one of the three fields. */
export class DeleteTableRows extends TableName {
  /** May be empty; ids without a row are ignored. */
  @Optional() @IsArray() @ArrayMaxSize(maxRowsPerRequest) @IsInt({ each: true }) ids?: number[];

  /** Must not be empty; use `deleteAllRows` for all rows. */
  @Optional() @JsonObject() filter?: Record<string, unknown>;

  @Optional() @IsBoolean() deleteAllRows?: boolean;
}

export class FindTableRows extends TableName {
  /** Default: 100. */
  @Optional() @IsInt() @Min(1) @Max(1000) limit?: number;

  @Optional() @IsInt() @Min(0) @Max(maxRowId) offset?: number;

  /**
   * Conditions by column: values, `$eq $ne $gt $gte $lt $lte $in $nin $exists $mod $size $regex $options`, `$and $or
   * $not`.
   */
  @Optional() @JsonObject() filter?: Record<string, unknown>;

  /** Aggregations by column, one or more of `key count sum avg max min unique`. */
  @Optional() @JsonObject() group?: Record<string, unknown>;

  @Optional() @IsString() @MaxLength(1024) search?: string;

  /** Columns to return, besides the row metadata. */
  @Optional() @IsArray() @ArrayMaxSize(100) @IsString({ each: true }) @MaxLength(200, { each: true }) select?: string[];

  /** Default: `id`. */
  @Optional() @IsString() @MaxLength(200) orderBy?: string;

  @Optional() @IsIn(['asc', 'desc']) orderDirection?: 'asc' | 'desc';
}

export class FoundRows {
  @ListOf(Row) rows!: Row[];

  /** Also true when the answer was truncated for its size, which a warning reports. */
  @IsBoolean() hasMore!: boolean;

  @IsInt() offset!: number;
  @IsInt() limit!: number;
  @Optional() @IsString({ each: true }) warnings?: string[];
}

class RowProblems {
  /** Deviations from the request that affected no row. Row numbers start at 0. */
  @Optional() @IsString({ each: true }) warnings?: string[];

  /** Reasons why single rows were not stored, by their positions in the request from 0: `Row 3` is the fourth row. */
  @Optional() @IsString({ each: true }) errors?: string[];
}

export class StoredRows extends RowProblems {
  /** In the order of the request. */
  @ListOf(Row) rows!: Row[];
}

export class UpsertedRows extends RowProblems {
  @ListOf(Row) inserted!: Row[];
  @ListOf(Row) updated!: Row[];
}

export class DeletedRows {
  @IsInt() deletedRows!: number;
  @Optional() @Nested(JobReference) job?: JobReference;
}

export const rows = {
  get: operation({
    subject: 'tables.rows.get',
    route: 'GET /v1/tables/{table}/row',
    summary: 'Gets a row by its id.',
    access: bot.readAlsoByIntegration,
    input: GetTableRow,
    output: RowReply,
  }),
  find: operation({
    subject: 'tables.rows.find',
    route: 'POST /v1/tables/{table}/rows/find',
    summary: 'Finds the rows that match a filter or a search, sorted by a column, or aggregates them in groups.',
    access: bot.readAlsoByIntegration,
    input: FindTableRows,
    output: FoundRows,
  }),
  create: operation({
    subject: 'tables.rows.create',
    route: 'POST /v1/tables/{table}/rows',
    summary: 'Inserts up to 1000 rows. Invalid rows are reported in `errors`; the others are stored.',
    access: bot.writeAlsoByIntegration,
    input: CreateTableRows,
    output: StoredRows,
    bodyLimitBytes: maxRowsBytes,
    isIdempotent: true,
  }),
  update: operation({
    subject: 'tables.rows.update',
    route: 'PUT /v1/tables/{table}/rows',
    summary: 'Updates columns of up to 1000 rows. Rows that cannot be updated are reported in `errors`.',
    access: bot.write,
    input: UpdateTableRows,
    output: StoredRows,
    bodyLimitBytes: maxRowsBytes,
  }),
  upsert: operation({
    subject: 'tables.rows.upsert',
    route: 'POST /v1/tables/{table}/rows/upsert',
    summary:
      'Updates the rows that a key column identifies, and inserts the others. Failed rows are reported in `errors`.',
    access: bot.write,
    input: UpsertTableRows,
    output: UpsertedRows,
    bodyLimitBytes: maxRowsBytes,
    isIdempotent: true,
  }),
  delete: operation({
    subject: 'tables.rows.delete',
    route: 'POST /v1/tables/{table}/rows/delete',
    summary: 'Deletes rows by their ids, by a filter, or all rows of the table.',
    access: bot.write,
    input: DeleteTableRows,
    output: DeletedRows,
    // A filter may match many rows.
    timeoutMs: 30_000,
  }),
};
