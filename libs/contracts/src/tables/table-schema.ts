import { IsArray, IsBoolean, IsIn, IsInt, IsNumber, IsString, MaxLength } from 'class-validator';
import { JsonObject, MapOf, Nested, Open, Optional } from '../fields';

export const columnTypes = ['string', 'number', 'boolean', 'object', 'array', 'null'] as const;
export type ColumnType = (typeof columnTypes)[number];

export const maxColumns = 20;

/** Characters. */
export const maxColumnName = 30;

export const computedActions = ['ai', 'code', 'workflow'] as const;
export type ComputedAction = (typeof computedActions)[number];

export class ComputedSettings {
  @IsIn(computedActions) action!: ComputedAction;

  /** Columns whose change makes the value stale. */
  @IsArray() @IsString({ each: true }) dependencies!: string[];

  @Optional() @IsString() prompt?: string;
  @Optional() @IsString() code?: string;
  @IsString() @MaxLength(80) model!: string;
  @Optional() @IsString() @MaxLength(20) workflowId?: string;
  @Optional() @IsBoolean() enabled?: boolean;
}

/** `x-zui` of a column: its display and the source of its values. Undeclared keys are kept. */
@Open()
export class ColumnSettings {
  /** Assigned by the platform and never reused within the table: a column that changes its type gets a new one. */
  @IsInt() index!: number;

  @Optional() @IsString() id?: string;

  /** Makes the text of the column searchable by `search`. */
  @Optional() @IsBoolean() searchable?: boolean;

  @Optional() @IsBoolean() hidden?: boolean;
  @Optional() @IsNumber() order?: number;
  @Optional() @IsNumber() width?: number;
  @Optional() @IsString() schemaId?: string;
  @Optional() @Nested(ComputedSettings) computed?: ComputedSettings;
  @Optional() @IsString() typings?: string;
}

/** JSON Schema of the values of a column. Further keywords for single values are kept and enforced. */
@Open()
export class ColumnSchema {
  @IsIn(columnTypes) type!: ColumnType;
  @Optional() @IsIn(['date-time']) format?: 'date-time';
  @Optional() @IsString() description?: string;
  @Optional() @IsString() pattern?: string;
  @Optional() @IsArray() @IsString({ each: true }) enum?: string[];
  @Optional() @JsonObject() items?: { type: ColumnType; [keyword: string]: unknown };

  /** Default: true. */
  @Optional() @IsBoolean() nullable?: boolean;

  @Optional() @JsonObject() properties?: Record<string, { type: ColumnType; [keyword: string]: unknown }>;

  @Nested(ColumnSettings)
  'x-zui'!: ColumnSettings;
}

export class TableSchema {
  @Optional() @IsString() $schema?: string;
  @IsIn(['object']) type!: 'object';
  @MapOf(ColumnSchema) properties!: Record<string, ColumnSchema>;
  @IsIn([true]) additionalProperties!: true;
  @Optional() @IsArray() @IsString({ each: true }) required?: string[];
}
