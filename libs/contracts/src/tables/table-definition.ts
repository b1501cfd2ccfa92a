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

/** Whether the text could be the id of a table, so that no table has it for a name. */
export function isTableId(text: unknown): boolean {
  return typeof text === 'string' && tableId.test(text);
}

function IsNoTableId(): PropertyDecorator {
  return ValidateBy({
    name: 'isNoTableId',
    validator: {
      validate: (value) => !isTableId(value),
      defaultMessage: (args) => `${args?.property ?? ''} must not look like the id of a table`,
    },
  });
}

/** Bytes of JSON that a row may take for each unit of its table's factor. */
export const rowBytesPerFactor = 4096;

/** What a table may be made with. */
export class TableDraft {
  /** Times 4096 bytes of JSON is the most that a row may take. */
  @Optional()
  @IsInt()
  @Min(1)
  @Max(maxFactor)
  factor?: number;

  /** Refuses changes of its name and schema. */
  @Optional()
  @IsBoolean()
  frozen?: boolean;

  /** Column whose values are unique in the table. */
  @Nullable()
  @IsString()
  @Length(1, maxColumnName)
  keyColumn?: string | null;

  /** A JSON schema of an object, a map from column to JSON schema, or an object to infer the columns from. */
  @JsonObject({ maxBytes: maxSchemaBytes })
  schema!: Record<string, unknown>;

  @Optional()
  @MapOf(String, { maxLength: 1000, maxEntries: maxTags })
  tags?: Record<string, string>;

  /** False keeps computed columns from being computed. */
  @Optional()
  @IsBoolean()
  isComputeEnabled?: boolean;
}

export class CreateTable extends TableDraft {
  @IsString()
  @Matches(tableName, { message: `$property ${tableNameProblem}` })
  @IsNoTableId()
  name!: string;
}

export class GetOrCreateTable extends TableDraft {
  /** Name or id; the name of the new one when there is none. */
  @PathParam()
  table!: string;
}

export class TableName {
  /** Name or id of the table. */
  @PathParam()
  table!: string;
}

export class ListTables {
  @QueryTags()
  tags?: TagQuery;
}

/** What is absent stays as it is. In `schema`, a named column is replaced and `null` removes it. */
export class UpdateTable extends TableName {
  @Optional()
  @IsString()
  @Matches(tableName, { message: `$property ${tableNameProblem}` })
  @IsNoTableId()
  name?: string;

  @Optional()
  @IsBoolean()
  frozen?: boolean;

  /** `null` ends the uniqueness. */
  @Nullable()
  @IsString()
  @Length(1, maxColumnName)
  keyColumn?: string | null;

  @Optional()
  @JsonObject({ maxBytes: maxSchemaBytes })
  schema?: Record<string, unknown>;

  /** A named tag is replaced and `null` removes it. */
  @Optional()
  @MapOf(String, { maxLength: 1000, maxEntries: 2 * maxTags, nullable: true })
  tags?: Record<string, string | null>;

  @Optional()
  @IsBoolean()
  isComputeEnabled?: boolean;

  /** At least what it was. */
  @Optional()
  @IsInt()
  @Min(1)
  @Max(maxFactor)
  factor?: number;
}

export class RenameTableColumn extends TableName {
  @IsString()
  @Length(1, maxColumnName)
  name!: string;

  @IsString()
  @Length(1, maxColumnName)
  newName!: string;
}

export class DuplicateTable {
  /** Name or id of the table. */
  @PathParam()
  sourceTableId!: string;

  /** Made from the name of the source when absent. */
  @Optional()
  @IsString()
  @Matches(tableName, { message: `$property ${tableNameProblem}` })
  @IsNoTableId()
  tableName?: string;

  /** Leaves the rows out. */
  @Optional()
  @IsBoolean()
  schemaOnly?: boolean;

  @Optional()
  @IsInt()
  @Min(1)
  @Max(maxFactor)
  factor?: number;
}

export class Table {
  @IsString()
  id!: string;

  @IsString()
  name!: string;

  @IsInt()
  factor!: number;

  @IsBoolean()
  frozen!: boolean;

  @Nullable()
  @IsString()
  keyColumn!: string | null;

  @Nested(TableSchema)
  schema!: TableSchema;

  @MapOf(String)
  tags!: Record<string, string>;

  @IsBoolean()
  isComputeEnabled!: boolean;

  @IsString()
  createdAt!: string;

  @IsString()
  updatedAt!: string;
}

export class TableReply {
  @Nested(Table)
  table!: Table;
}

export class UpdatedTable extends TableReply {
  /** Computed columns whose values are made anew, as what they are computed from was changed or emptied. */
  @Optional()
  @IsString({ each: true })
  staleColumns?: string[];
}

/** A table with how much is in it and how much of that is under way. */
export class TableWithCounts extends TableReply {
  @IsInt()
  rows!: number;

  /** Rows with a column that waits to be computed. */
  @IsInt()
  stale!: number;

  /** Rows that `search` does not find yet. */
  @IsInt()
  indexing!: number;
}

export class GottenOrCreatedTable extends TableWithCounts {
  @IsBoolean()
  created!: boolean;
}

export class DuplicatedTable extends TableReply {
  /** Rows that the copy has or will have. */
  @IsNumber()
  rows!: number;

  /** Copies the rows, where they are too many for one request. */
  @Optional()
  @Nested(JobReference)
  job?: JobReference;
}

export class Tables {
  @ListOf(Table, { maxItems: 10_000 })
  tables!: Table[];
}
