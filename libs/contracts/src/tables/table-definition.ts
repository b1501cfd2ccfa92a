import { IsBoolean, IsInt, IsNumber, IsString, Length, Matches, Max, Min, ValidateBy } from 'class-validator';
import { JsonObject, ListOf, MapOf, Nested, Nullable, Optional } from '../fields';
import { PathParam, QueryTags, type TagQuery } from '../query-fields';
import { maxColumnName, TableSchema } from './table-schema';
import { JobReference } from './jobs';

export const maxTags = 100;
const maxSchemaBytes = 128 * 1024;
const maxFactor = 30;

export const tableName = /^\w{1,50}$/;
export const tableNameProblem = 'must be 1 to 50 letters, digits and underscores';
const tableId = /^table_[0-9A-HJKMNP-TV-Z]{26}$/;

/** True for a string of the form of a table id; no table may have such a name. */
export function isTableId(text: unknown): boolean {
  return typeof text === 'string' && tableId.test(text);
}

function IsNoTableId(): PropertyDecorator {
  return ValidateBy({
    name: 'isNoTableId',
    validator: {
      validate: (value) => !isTableId(value),
      defaultMessage: (args) => `${args?.property ?? ''} must not have the form of a table id`,
    },
  });
}

/** Bytes of JSON per row, for each unit of the table's factor. */
export const rowBytesPerFactor = 4096;

export class TableDraft {
  /** Largest size of a row, in units of 4096 bytes of JSON. */
  @Optional() @IsInt() @Min(1) @Max(maxFactor) factor?: number;

  /** Rejects changes of the name and the schema. */
  @Optional() @IsBoolean() frozen?: boolean;

  @Nullable() @IsString() @Length(1, maxColumnName) keyColumn?: string | null;

  /** JSON Schema of an object, a map from column to JSON Schema, or a sample object to infer the columns from. */
  @JsonObject({ maxBytes: maxSchemaBytes }) schema!: Record<string, unknown>;

  @Optional() @MapOf(String, { maxLength: 1000, maxEntries: maxTags }) tags?: Record<string, string>;

  /** False disables the computation of computed columns. */
  @Optional() @IsBoolean() isComputeEnabled?: boolean;
}

export class CreateTable extends TableDraft {
  @IsString() @Matches(tableName, { message: `$property ${tableNameProblem}` }) @IsNoTableId() name!: string;
}

export class GetOrCreateTable extends TableDraft {
  /** Name or id; the name of the new table when none exists. */
  @PathParam() table!: string;
}

export class TableName {
  /** Name or id of the table. */
  @PathParam() table!: string;
}

export class ListTables {
  @QueryTags() tags?: TagQuery;
}

/** Absent fields stay unchanged. In `schema`, a column replaces the one of its name, and `null` removes it. */
export class UpdateTable extends TableName {
  @Optional()
  @IsString()
  @Matches(tableName, { message: `$property ${tableNameProblem}` })
  @IsNoTableId()
  name?: string;

  @Optional() @IsBoolean() frozen?: boolean;

  /** `null` removes the uniqueness. */
  @Nullable() @IsString() @Length(1, maxColumnName) keyColumn?: string | null;

  @Optional() @JsonObject({ maxBytes: maxSchemaBytes }) schema?: Record<string, unknown>;

  /** A tag replaces the one of its name, and `null` removes it. */
  @Optional()
  @MapOf(String, { maxLength: 1000, maxEntries: 2 * maxTags, nullable: true })
  tags?: Record<string, string | null>;

  @Optional() @IsBoolean() isComputeEnabled?: boolean;

  /** Must not be smaller than the current factor. */
  @Optional() @IsInt() @Min(1) @Max(maxFactor) factor?: number;
}

export class RenameTableColumn extends TableName {
  @IsString() @Length(1, maxColumnName) name!: string;
  @IsString() @Length(1, maxColumnName) newName!: string;
}

export class DuplicateTable {
  /** Name or id of the table. */
  @PathParam() sourceTableId!: string;

  /** Derived from the name of the source when absent. */
  @Optional()
  @IsString()
  @Matches(tableName, { message: `$property ${tableNameProblem}` })
  @IsNoTableId()
  tableName?: string;

  @Optional() @IsBoolean() schemaOnly?: boolean;
  @Optional() @IsInt() @Min(1) @Max(maxFactor) factor?: number;
}

export class Table {
  @IsString() id!: string;
  @IsString() name!: string;
  @IsInt() factor!: number;
  @IsBoolean() frozen!: boolean;
  @Nullable() @IsString() keyColumn!: string | null;
  @Nested(TableSchema) schema!: TableSchema;
  @MapOf(String) tags!: Record<string, string>;
  @IsBoolean() isComputeEnabled!: boolean;
  @IsString() createdAt!: string;
  @IsString() updatedAt!: string;
}

export class TableReply {
  @Nested(Table) table!: Table;
}

export class UpdatedTable extends TableReply {
  /** Computed columns to be recomputed, since their dependencies were changed or emptied. */
  @Optional() @IsString({ each: true }) staleColumns?: string[];
}

export class TableWithCounts extends TableReply {
  @IsInt() rows!: number;

  /** Rows with a computed column that is not yet computed. */
  @IsInt() stale!: number;

  /** Rows that `search` does not find yet. */
  @IsInt() indexing!: number;
}

export class GottenOrCreatedTable extends TableWithCounts {
  @IsBoolean() created!: boolean;
}

export class DuplicatedTable extends TableReply {
  /** Number of rows that the copy has once its job is complete. */
  @IsNumber() rows!: number;

  /** Background job that copies the rows, if they are too many for one request. */
  @Optional() @Nested(JobReference) job?: JobReference;
}

export class Tables {
  @ListOf(Table, { maxItems: 10_000 }) tables!: Table[];
}
