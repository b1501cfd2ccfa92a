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

/** Most rows that one request creates, changes or names. */
export const maxRowsPerRequest = 1000;

/** Ids of rows are numbers of 32 bits. */
export const maxRowId = 2_147_483_647;

/**
 * Of a request with rows: 1000 rows of 4 kB, which is the size of a row unless its table has a larger `factor`, are 4 MB. Tables
 * with the largest factor (rows of 120 kB) take their rows in several requests.
 */
const maxRowsBytes = 16_000_000;

export const cellStatuses = ['pending', 'computed', 'failed'] as const;
export type CellStatus = (typeof cellStatuses)[number];

/** How far the value of a computed column is. */
export class CellState {
  @IsIn(cellStatuses)
  status!: CellStatus;

  /** Why there is no value, and what to do. */
  @Optional()
  @IsString()
  error?: string;

  @Optional()
  @IsString()
  updatedBy?: string;

  @Optional()
  @IsString()
  updatedAt?: string;
}

/** The row's columns by name, null where there is nothing, beside what the platform says of it. */
@Open()
export class Row {
  @IsInt()
  id!: number;

  /** Absent where a row stands for a group. */
  @Optional()
  @IsString()
  createdAt?: string;

  @Optional()
  @IsString()
  updatedAt?: string;

  /** By computed column. */
  @MapOf(CellState)
  computed!: Record<string, CellState>;

  /** Computed columns whose value is of a former state of the row. */
  @Optional()
  @IsString({ each: true })
  stale?: string[];

  /** Of a search: the cosine similarity to the text that was searched for. */
  @Optional()
  @IsNumber()
  similarity?: number;

  [column: string]: unknown;
}

export class RowReply {
  @Nested(Row)
  row!: Row;
}

export class GetTableRow extends TableName {
  @QueryInteger({ min: 1, max: maxRowId, required: true })
  id!: number;
}

export class CreateTableRows extends TableName {
  /** Columns by name. What does not fit the table is told in `errors`, and the others are stored. */
  @JsonObjects({ minItems: 1, maxItems: maxRowsPerRequest })
  rows!: Record<string, unknown>[];

  /** Answers when the computed columns of a single row have their values. */
  @Optional()
  @IsBoolean()
  waitComputed?: boolean;
}

/** Each row names its `id`; columns that are absent stay as they are. */
export class UpdateTableRows extends CreateTableRows {}

export class UpsertTableRows extends CreateTableRows {
  /** Column by which a row that is there is found: `id` unless it says otherwise. */
  @Optional()
  @IsString()
  @Length(1, maxColumnName)
  keyColumn?: string;
}

/** Exactly one of the three. */
export class DeleteTableRows extends TableName {
  /** None, or some that no row has, is no mistake. */
  @Optional()
  @IsArray()
  @ArrayMaxSize(maxRowsPerRequest)
  @IsInt({ each: true })
  ids?: number[];

  /** Not empty: `deleteAllRows` is for all. */
  @Optional()
  @JsonObject()
  filter?: Record<string, unknown>;

  @Optional()
  @IsBoolean()
  deleteAllRows?: boolean;
}

export class FindTableRows extends TableName {
  /** 100 when absent. */
  @Optional()
  @IsInt()
  @Min(1)
  @Max(1000)
  limit?: number;

  @Optional()
  @IsInt()
  @Min(0)
  @Max(maxRowId)
  offset?: number;

  /** Conditions by column: values, `$eq $ne $gt $gte $lt $lte $in $nin $exists $mod $size $regex $options`, `$and $or $not`. */
  @Optional()
  @JsonObject()
  filter?: Record<string, unknown>;

  /** By column, one or more of `key count sum avg max min unique`. */
  @Optional()
  @JsonObject()
  group?: Record<string, unknown>;

  @Optional()
  @IsString()
  @MaxLength(1024)
  search?: string;

  /** Columns to answer; those of the platform always are. */
  @Optional()
  @IsArray()
  @ArrayMaxSize(100)
  @IsString({ each: true })
  @MaxLength(200, { each: true })
  select?: string[];

  /** `id` when absent. */
  @Optional()
  @IsString()
  @MaxLength(200)
  orderBy?: string;

  @Optional()
  @IsIn(['asc', 'desc'])
  orderDirection?: 'asc' | 'desc';
}

export class FoundRows {
  @ListOf(Row)
  rows!: Row[];

  /** Also when the answer was cut for its size, which a warning says. */
  @IsBoolean()
  hasMore!: boolean;

  @IsInt()
  offset!: number;

  @IsInt()
  limit!: number;

  @Optional()
  @IsString({ each: true })
  warnings?: string[];
}

class Remarks {
  /** What was not done as asked, without harm to a row; rows are counted from 0. */
  @Optional()
  @IsString({ each: true })
  warnings?: string[];

  /** Why single rows were not stored, by their places in the request from 0: `Row 3` is the fourth. */
  @Optional()
  @IsString({ each: true })
  errors?: string[];
}

export class StoredRows extends Remarks {
  /** In the order of the request. */
  @ListOf(Row)
  rows!: Row[];
}

export class UpsertedRows extends Remarks {
  @ListOf(Row)
  inserted!: Row[];

  @ListOf(Row)
  updated!: Row[];
}

export class DeletedRows {
  @IsInt()
  deletedRows!: number;

  @Optional()
  @Nested(JobReference)
  job?: JobReference;
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
    summary: 'Finds rows by a filter, in any order, or sums them up in groups.',
    access: bot.readAlsoByIntegration,
    input: FindTableRows,
    output: FoundRows,
  }),
  create: operation({
    subject: 'tables.rows.create',
    route: 'POST /v1/tables/{table}/rows',
    summary: 'Inserts up to 1000 rows; those that do not fit the table are told in `errors`.',
    access: bot.writeAlsoByIntegration,
    input: CreateTableRows,
    output: StoredRows,
    bodyLimitBytes: maxRowsBytes,
    isIdempotent: true,
  }),
  update: operation({
    subject: 'tables.rows.update',
    route: 'PUT /v1/tables/{table}/rows',
    summary: 'Changes columns of up to 1000 rows; those that cannot be changed are told in `errors`.',
    access: bot.write,
    input: UpdateTableRows,
    output: StoredRows,
    bodyLimitBytes: maxRowsBytes,
  }),
  upsert: operation({
    subject: 'tables.rows.upsert',
    route: 'POST /v1/tables/{table}/rows/upsert',
    summary: 'Changes the rows that a column finds, and inserts the others; what fails is told in `errors`.',
    access: bot.write,
    input: UpsertTableRows,
    output: UpsertedRows,
    bodyLimitBytes: maxRowsBytes,
    isIdempotent: true,
  }),
  delete: operation({
    subject: 'tables.rows.delete',
    route: 'POST /v1/tables/{table}/rows/delete',
    summary: 'Deletes rows by their ids, those that a filter finds, or all.',
    access: bot.write,
    input: DeleteTableRows,
    output: DeletedRows,
    // Of many rows by a filter.
    timeoutMs: 30_000,
  }),
};
