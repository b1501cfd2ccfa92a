import { rowBytesPerFactor } from '@parley/contracts/tables/table-definition';
import { mapEntries } from '@parley/contracts/entries';
import Ajv, { type ErrorObject, type ValidateFunction } from 'ajv';
import { show, systemFields } from './column-names';
import { columnsOf, type TableColumn, type TableSchemaRow } from './columns';
import { toUtc } from './date-time';
import { Pattern } from './pattern';
import { toStorable } from './storable-value';
import type { ValueSchema } from './value-schema';

/** Valid row: data by column key, in the stored form. */
export interface CheckedRow {
  data: Record<string, unknown>;
  /** The data without nulls, as JSON that Postgres can store. */
  json: string;
  /** Size of `json`. */
  sizeBytes: number;
  warnings: string[];
}

type Row = Record<string, unknown>;

const maxListed = 5;

/**
 * Validates rows against one version of a table's schema. Ignores unknown columns and converts date-times to UTC. A row
 * takes microseconds; `Pattern` bounds the time for each pattern.
 */
export class RowValidator {
  private readonly columns: Map<string, TableColumn>;
  private readonly required: readonly string[];
  private readonly validate: ValidateFunction;
  private readonly maxBytes: number;

  constructor(table: TableSchemaRow & { factor: number }) {
    this.columns = columnsOf(table);
    this.required = table.schema.required ?? [];
    this.validate = compile(this.columns);
    this.maxBytes = table.factor * rowBytesPerFactor;
  }

  /** Validates a row to insert and drops its nulls. Returns the error as a sentence. */
  checkNew(row: Row): CheckedRow | string {
    const given = Object.keys(row).find((name) => systemFields.has(name));
    if (given !== undefined) return `${given} is set by the platform and must be left out`;
    const checked = this.check(row);
    return typeof checked === 'string'
      ? checked
      : (this.requiredProblem(checked.data) ?? { ...checked, data: withoutNulls(checked.data) });
  }

  /**
   * Validates the changes of a row; null removes a value. Returns the error as a sentence. Ignores system fields with a
   * warning, and `id` without one. The size of the changed row has to be checked by `wholeProblem`.
   */
  checkChange(row: Row): CheckedRow | string {
    const given = Object.keys(row).filter((name) => systemFields.has(name));
    if (given.length === 0) return this.check(row);
    const checked = this.check(Object.fromEntries(Object.entries(row).filter(([name]) => !systemFields.has(name))));
    const ignored = given.filter((name) => name !== 'id');
    if (typeof checked === 'string' || ignored.length === 0) return checked;
    const [is, was] = ignored.length === 1 ? ['is', 'was'] : ['are', 'were'];
    return {
      ...checked,
      warnings: [`${list(ignored)} ${is} set by the platform and ${was} ignored`, ...checked.warnings],
    };
  }

  requiredProblem(data: Row): string | undefined {
    const missing = this.required.find((name) => data[this.columns.get(name)?.key ?? ''] === undefined);
    return missing === undefined ? undefined : `${missing} is required`;
  }

  wholeProblem(data: Row): string | undefined {
    return this.sizeProblem(sizeOf(data));
  }

  sizeProblem(sizeBytes: number): string | undefined {
    return sizeBytes > this.maxBytes
      ? `it must be at most ${this.maxBytes} bytes of JSON, got ${sizeBytes}`
      : undefined;
  }

  private check(row: Row): CheckedRow | string {
    const data: Row = {};
    const unknown: string[] = [];
    for (const name of Object.keys(row)) {
      const column = this.columns.get(name);
      const value = row[name];
      if (!column) unknown.push(name);
      else if (value === null) {
        if (!takesNull(column)) return `${name} may not be null`;
        data[column.key] = null;
      } else if (value !== undefined) {
        const storable = toStorable(value);
        if ('problem' in storable) return `${name} ${storable.problem}`;
        const stored = isDateTime(column) ? toStoredTime(value) : storable.value;
        if (stored === undefined) return `${name} must be an ISO 8601 date-time such as 2026-01-31T09:30:00.000Z`;
        data[column.key] = stored;
      }
    }
    const json = JSON.stringify(withoutNulls(data));
    const sizeBytes = Buffer.byteLength(json);
    // Size check before patterns, which take more time.
    const tooLarge = this.sizeProblem(sizeBytes);
    if (tooLarge !== undefined) return tooLarge;
    if (!this.validate(data)) return this.describe(this.validate.errors?.[0]);
    return { data, json, sizeBytes, warnings: unknown.length === 0 ? [] : [leftOut(unknown)] };
  }

  private describe(error: ErrorObject | undefined): string {
    const [key, ...inside] = (error?.instancePath ?? '').split('/').slice(1).map(unescapePointer);
    const column = [...this.columns.values()].find((candidate) => candidate.key === key);
    const path = [column?.name ?? 'it', ...inside.map(show)].join('.');
    const { allowedValues, additionalProperty } = (error?.params ?? {}) as Record<string, unknown>;
    const right = allowedValues ?? additionalProperty;
    const detail = right === undefined ? '' : `: ${JSON.stringify(right)}`;
    return `${path} ${error?.message ?? 'does not fit its schema'}${detail}`.slice(0, 500);
  }
}

export function sizeOf(data: Row): number {
  return Buffer.byteLength(JSON.stringify(data));
}

export function withoutNulls(data: Row): Row {
  if (!Object.values(data).includes(null)) return data;
  const kept: Row = {};
  for (const key in data) if (data[key] !== null) kept[key] = data[key];
  return kept;
}

function takesNull({ schema }: TableColumn): boolean {
  return schema.type === 'null' || schema.nullable !== false;
}

function isDateTime({ schema }: TableColumn): boolean {
  return schema.format === 'date-time';
}

function toStoredTime(value: unknown): string | undefined {
  return typeof value === 'string' ? toUtc(value) : undefined;
}

function leftOut(names: string[]): string {
  if (names.length === 1) return `${show(names[0]!)} is not a column of this table and was ignored`;
  return `${list(names)} are not columns of this table and were ignored`;
}

function list(names: string[]): string {
  const listed = names.slice(0, maxListed).map(show);
  const others = names.length - listed.length;
  const last = others > 0 ? `${others} more` : listed.pop()!;
  return listed.length === 0 ? last : `${listed.join(', ')} and ${last}`;
}

/**
 * A separate Ajv instance per table, because Ajv keeps what it has compiled. Patterns and formats are limited to those
 * below.
 */
function compile(columns: Map<string, TableColumn>): ValidateFunction {
  const ajv = new Ajv({
    strict: false,
    strictNumbers: true,
    logger: false,
    meta: false,
    validateSchema: false,
    // Tolerance: a hundredth of 0.07 is not exactly 7 in floating point.
    multipleOfPrecision: 9,
    formats: { 'date-time': (text: string) => toUtc(text) !== undefined },
    code: { regExp: Object.assign((source: string) => Pattern.compile(source), { code: 'Pattern.compile' }) },
  });
  // Nulls and date-times of columns are checked before.
  const properties = [...columns.values()].map(({ key, schema }) => [
    key,
    toAjv({ ...(schema as ValueSchema), nullable: true, format: undefined }),
  ]);
  return ajv.compile({ properties: Object.fromEntries(properties) as object });
}

const kept = [
  ...['minLength', 'maxLength', 'pattern', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minItems', 'maxItems', 'required', 'minProperties', 'maxProperties', 'additionalProperties', 'format'],
] as const satisfies (keyof ValueSchema)[];

function toAjv(schema: ValueSchema): object {
  const { type, nullable = false, pattern, items, properties, additionalProperties } = schema;
  const maxLength = Math.min(schema.maxLength ?? Infinity, pattern ? Pattern.compile(pattern).longestText : Infinity);
  return {
    ...Object.fromEntries(kept.flatMap((name) => (schema[name] === undefined ? [] : [[name, schema[name]]]))),
    type: schema.multipleOf === 1 ? 'integer' : type,
    nullable,
    ...(schema.enum ? { enum: nullable ? [...schema.enum, null] : schema.enum } : {}),
    ...(maxLength === Infinity ? {} : { maxLength }),
    ...(items ? { items: toAjv(items) } : {}),
    ...(properties ? { properties: mapEntries(properties, toAjv) } : {}),
    ...(typeof additionalProperties === 'object' ? { additionalProperties: toAjv(additionalProperties) } : {}),
  };
}

function unescapePointer(text: string): string {
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}
