import { rowBytesPerFactor } from '@parley/contracts/tables/table-definition';
import { mapEntries } from '@parley/contracts/entries';
import Ajv, { type ErrorObject, type ValidateFunction } from 'ajv';
import { show, systemFields } from './column-names';
import { toUtc } from './date-time';
import { Pattern } from './pattern';
import { toStorable } from './storable-value';
import { type Column, columnsOf, type TableRow } from './table.entity';
import type { ValueSchema } from './value-schema';

/** A row as it came, found fit: its data by column key, as it is stored. */
export interface CheckedRow {
  data: Record<string, unknown>;
  /** Of the data without nulls, as JSON. */
  sizeBytes: number;
  /** Columns that were left out, as sentences without the row. */
  warnings: string[];
}

type Row = Record<string, unknown>;

/** Most names that a sentence lists. */
const maxListed = 5;

/**
 * Checks rows against the schema of one version of a table. Columns that the table does not have are left out, and
 * date-times come out in UTC. A row takes microseconds, and a pattern in it no more than `Pattern` says for each text.
 */
export class RowValidator {
  private readonly columns: Map<string, Column>;
  private readonly required: readonly string[];
  private readonly validate: ValidateFunction;
  private readonly maxBytes: number;

  constructor(table: Pick<TableRow, 'number' | 'schema' | 'factor'>) {
    this.columns = columnsOf(table);
    this.required = table.schema.required ?? [];
    this.validate = compile(this.columns);
    this.maxBytes = table.factor * rowBytesPerFactor;
  }

  /** The row to insert, without its nulls, or the sentence that says what keeps it out. */
  checkNew(row: Row): CheckedRow | string {
    const given = Object.keys(row).find((name) => systemFields.has(name));
    if (given !== undefined) return `${given} is set by the platform and must be left out`;
    const checked = this.check(row);
    return typeof checked === 'string'
      ? checked
      : (this.requiredProblem(checked.data) ?? { ...checked, data: withoutNulls(checked.data) });
  }

  /**
   * The columns to change, with null for those to be emptied, or the sentence that says what keeps them out. System
   * fields are left out with a warning, but `id`, which names the row, without one. How large the row becomes is for
   * `wholeProblem` to say.
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
      warnings: [`${list(ignored)} ${is} set by the platform and ${was} left out`, ...checked.warnings],
    };
  }

  /** Why a change that was checked cannot be a new row; undefined when it can. */
  requiredProblem(data: Row): string | undefined {
    const missing = this.required.find((name) => data[this.columns.get(name)?.key ?? ''] === undefined);
    return missing === undefined ? undefined : `${missing} is required`;
  }

  /** Why a whole row cannot be stored in the table; undefined when it can. */
  wholeProblem(data: Row): string | undefined {
    return this.sizeProblem(sizeOf(data));
  }

  /** The same of a row whose data has this size. */
  sizeProblem(sizeBytes: number): string | undefined {
    return sizeBytes > this.maxBytes
      ? `it must be at most ${this.maxBytes} bytes of JSON, and is ${sizeBytes}`
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
    const sizeBytes = sizeOf(withoutNulls(data));
    // What is too large is not worth the time that a pattern takes.
    const tooLarge = this.sizeProblem(sizeBytes);
    if (tooLarge !== undefined) return tooLarge;
    if (!this.validate(data)) return this.describe(this.validate.errors?.[0]);
    return { data, sizeBytes, warnings: unknown.length === 0 ? [] : [leftOut(unknown)] };
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

/** Bytes that the data of a row takes as JSON. */
export function sizeOf(data: Row): number {
  return Buffer.byteLength(JSON.stringify(data));
}

export function withoutNulls(data: Row): Row {
  if (!Object.values(data).includes(null)) return data;
  const kept: Row = {};
  for (const key in data) if (data[key] !== null) kept[key] = data[key];
  return kept;
}

function takesNull({ schema }: Column): boolean {
  return schema.type === 'null' || schema.nullable !== false;
}

function isDateTime({ schema }: Column): boolean {
  return schema.format === 'date-time';
}

function toStoredTime(value: unknown): string | undefined {
  return typeof value === 'string' ? toUtc(value) : undefined;
}

function leftOut(names: string[]): string {
  if (names.length === 1) return `${show(names[0]!)} is no column of this table and was left out`;
  return `${list(names)} are no columns of this table and were left out`;
}

function list(names: string[]): string {
  const listed = names.slice(0, maxListed).map(show);
  const others = names.length - listed.length;
  const last = others > 0 ? `${others} more` : listed.pop()!;
  return listed.length === 0 ? last : `${listed.join(', ')} and ${last}`;
}

/** One for each table, since Ajv remembers what it has compiled. It has no patterns and formats but those below. */
function compile(columns: Map<string, Column>): ValidateFunction {
  const ajv = new Ajv({
    strict: false,
    strictNumbers: true,
    logger: false,
    meta: false,
    validateSchema: false,
    // A hundredth of 0.07 is not quite 7.
    multipleOfPrecision: 9,
    formats: { 'date-time': (text: string) => toUtc(text) !== undefined },
    code: { regExp: Object.assign((source: string) => Pattern.compile(source), { code: 'Pattern.compile' }) },
  });
  // Nulls and date-times of columns are looked at before.
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

/** The keywords that Ajv is to check, and nothing else of what the client wrote. */
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
