import { ApiError } from '@parley/contracts/errors';
import type { Direction } from './row-order';
import { valueTerms } from './row-order';
import { type ColumnPlace, type Columns, findPlace, noPlace, type Place, valueAt } from './place';

const operations = ['key', 'count', 'sum', 'avg', 'max', 'min', 'unique'] as const;
type Operation = (typeof operations)[number];

/** Entries of `group` together with their operations. */
const maxOutputs = 40;

/** One value of each answered group. */
interface Output {
  /** Column and operation, as `priceSum`. */
  name: string;
  operation: Operation;
  place: Place;
}

interface Order {
  output: Output;
  direction: Direction;
}

/** A group as Postgres answers it: the outputs in their order. */
export interface GroupRow {
  outputs: unknown[];
}

/**
 * Rows summed up. Rows with the same values in all columns that are a `key` are a group; without a `key` all rows are one.
 * `count` is of rows that have a value and `unique` of their distinct values. `sum`, `avg`, and `max` and `min` of what is
 * no text or time, are of numbers; over nothing they are null.
 */
export class Grouping {
  private constructor(
    private readonly outputs: Output[],
    private readonly order?: Order,
  ) {}

  /** Throws InvalidPayload. */
  static read(
    columns: Columns,
    group: Record<string, unknown>,
    orderBy?: string,
    direction: Direction = 'asc',
  ): Grouping {
    const outputs = Object.entries(group).flatMap(([name, wanted]) => readOutputs(columns, name, wanted));
    if (outputs.length === 0) refuse('group must name at least one column');
    if (outputs.length > maxOutputs) refuse(`group must have at most ${maxOutputs} operations`);
    if (orderBy === undefined) return new Grouping(outputs);

    const output = outputs.find(({ name }) => name === orderBy) ?? outputs.find((entry) => isKeyOf(entry, orderBy));
    if (!output) refuse(`orderBy must be a column of the answer: one of ${outputs.map(({ name }) => name).join(', ')}`);
    return new Grouping(outputs, { output, direction });
  }

  /** SQL of the groups of these rows; its values are appended. @param rows what stands behind FROM, with `row` in it. */
  statement(rows: string, values: unknown[]): string {
    const sources = this.outputs.map(({ place }, index) => `${sourceOf(place, values)} AS v${index}`);
    const results = this.outputs.map((output, index) => `${resultOf(output, `v${index}`)} AS o${index}`);
    const keys = this.outputs.flatMap(({ operation }, index) => (operation === 'key' ? [`v${index}`] : []));
    const terms = this.orderTerms();
    return `
      SELECT jsonb_build_array(${this.outputs.map((_output, index) => `o${index}`).join(', ')}) AS outputs
      FROM (
        SELECT ${results.join(', ')} FROM (SELECT ${sources.join(', ')} FROM ${rows}) AS source
        ${keys.length > 0 ? `GROUP BY ${keys.join(', ')}` : ''}
      ) AS groups
      ${terms.length > 0 ? `ORDER BY ${terms.join(', ')}` : ''}`;
  }

  /** The columns of an answered group by name. Null stands for a number that JSON cannot hold. */
  toValues({ outputs }: GroupRow): Record<string, unknown> {
    return Object.fromEntries(
      this.outputs.map(({ name }, index) => [name, isTooLarge(outputs[index]) ? null : outputs[index]]),
    );
  }

  /** Names of the columns where a number is larger than JSON can hold. */
  tooLargeIn(groups: GroupRow[]): string[] {
    return this.outputs
      .filter((_output, index) => groups.some(({ outputs }) => isTooLarge(outputs[index])))
      .map(({ name }) => name);
  }

  /** By what was asked for, then by the keys, so that pages do not overlap. */
  private orderTerms(): string[] {
    const terms = this.outputs.flatMap((output, index) =>
      output.operation === 'key' ? [valueTerms(`o${index}`, typeOf(output), 'asc')] : [],
    );
    if (!this.order) return terms;
    const { output, direction } = this.order;
    return [valueTerms(`o${this.outputs.indexOf(output)}`, typeOf(output), direction), ...terms];
  }
}

function readOutputs(columns: Columns, name: string, wanted: unknown): Output[] {
  const place = findPlace(columns, name);
  if (!place) refuse(`group.${name} ${noPlace(columns)}`);
  const list: unknown[] = Array.isArray(wanted) ? wanted : [wanted];
  return [...new Set(list)].map((operation) => {
    if (!isOperation(operation)) refuse(`group.${name} must be one or more of ${operations.join(', ')}`);
    checkType(name, operation, place);
    return { name: `${name}${operation.charAt(0).toUpperCase()}${operation.slice(1)}`, operation, place };
  });
}

function checkType(name: string, operation: Operation, place: Place): void {
  const type = place.kind === 'column' ? place.type : place.kind;
  const isNumeric = type === 'number' || type === 'id' || type === 'any';
  if ((operation === 'sum' || operation === 'avg') && !isNumeric)
    refuse(`group.${name}: ${operation} is for columns of type number`);
  if ((operation === 'max' || operation === 'min') && !isNumeric && !isText(type))
    refuse(`group.${name}: ${operation} is for numbers, texts and times`);
}

/** As `jsonb`, NULL where there is nothing. Times are the text that answers have. */
function sourceOf(place: Place, values: unknown[]): string {
  switch (place.kind) {
    case 'id':
      return `to_jsonb(row.id)`;
    case 'time':
      return `to_jsonb(to_char(${place.sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;
    case 'column':
      return `nullif(${valueAt(place, values)}, 'null')`;
  }
}

/** As `jsonb`. */
function resultOf({ operation, place }: Output, value: string): string {
  const number = `CASE WHEN jsonb_typeof(${value}) = 'number' THEN (${value})::numeric END`;
  const text = `(${value} #>> '{}') COLLATE "C"`;
  switch (operation) {
    case 'key':
      return value;
    case 'count':
      return `to_jsonb(count(${value}))`;
    case 'unique':
      return `to_jsonb(count(DISTINCT ${value}))`;
    case 'sum':
    case 'avg':
      return `to_jsonb(${operation}(${number}))`;
    case 'max':
    case 'min':
      return `to_jsonb(${operation}(${isText(place.kind === 'column' ? place.type : place.kind) ? text : number}))`;
  }
}

function typeOf({ operation, place }: Output): ColumnPlace['type'] {
  if (operation === 'key') return place.kind === 'column' ? place.type : 'any';
  return 'any';
}

function isText(type: string): boolean {
  return type === 'string' || type === 'date-time' || type === 'time';
}

/** A sum of many digits is read as infinite. */
function isTooLarge(value: unknown): boolean {
  return value === Infinity || value === -Infinity;
}

function isOperation(value: unknown): value is Operation {
  return operations.includes(value as Operation);
}

function isKeyOf({ name, operation }: Output, column: string): boolean {
  return operation === 'key' && name === `${column}Key`;
}

function refuse(complaint: string): never {
  throw new ApiError('InvalidPayload', `${complaint}.`);
}
