import { ApiError } from '@parley/contracts/errors';
import {
  type DataColumn,
  type Columns,
  resolveColumn,
  notAColumn,
  type ColumnReference,
  valueAt,
} from './column-reference';
import { type Direction, valueTerms } from './row-order';

const operations = ['key', 'count', 'sum', 'avg', 'max', 'min', 'unique'] as const;
type Operation = (typeof operations)[number];

const maxOutputs = 40;

interface Output {
  /** Column and operation, such as `priceSum`. */
  name: string;
  operation: Operation;
  column: ColumnReference;
}

interface Order {
  output: Output;
  direction: Direction;
}

export interface GroupRow {
  outputs: unknown[];
}

/**
 * Aggregation of rows. Rows with equal values in all `key` columns form a group; without a `key` all rows are one
 * group. `count` counts rows with a value and `unique` their distinct values. `sum`, `avg`, and `max` and `min` of
 * columns other than texts and times, are computed over numbers; they are null without any.
 */
export class Grouping {
  private constructor(
    private readonly outputs: Output[],
    private readonly order?: Order,
  ) {}

  static read(
    columns: Columns,
    group: Record<string, unknown>,
    orderBy?: string,
    direction: Direction = 'asc',
  ): Grouping {
    const outputs = Object.entries(group).flatMap(([name, requested]) => readOutputs(columns, name, requested));
    if (outputs.length === 0) refuse('group must name at least one column');
    if (outputs.length > maxOutputs) refuse(`group must have at most ${maxOutputs} operations`);
    if (orderBy === undefined) return new Grouping(outputs);

    const output = outputs.find(({ name }) => name === orderBy) ?? outputs.find((entry) => isKeyOf(entry, orderBy));
    if (!output) refuse(`orderBy must be a column of the answer: one of ${outputs.map(({ name }) => name).join(', ')}`);
    return new Grouping(outputs, { output, direction });
  }

  /**
   * SQL of the groups; appends its parameters to `values`.
   * @param rows FROM clause that provides `row`
   */
  statement(rows: string, values: unknown[]): string {
    const sources = this.outputs.map(({ column }, index) => `${sourceOf(column, values)} AS v${index}`);
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

  /** Values of a group by output name. Numbers beyond the range of JSON become null. */
  toValues({ outputs }: GroupRow): Record<string, unknown> {
    return Object.fromEntries(
      this.outputs.map(({ name }, index) => [name, isTooLarge(outputs[index]) ? null : outputs[index]]),
    );
  }

  tooLargeIn(groups: GroupRow[]): string[] {
    return this.outputs
      .filter((_output, index) => groups.some(({ outputs }) => isTooLarge(outputs[index])))
      .map(({ name }) => name);
  }

  /** By `orderBy`, then by the keys, so that pages do not overlap. */
  private orderTerms(): string[] {
    const terms = this.outputs.flatMap((output, index) =>
      output.operation === 'key' ? [valueTerms(`o${index}`, typeOf(output), 'asc')] : [],
    );
    if (!this.order) return terms;
    const { output, direction } = this.order;
    return [valueTerms(`o${this.outputs.indexOf(output)}`, typeOf(output), direction), ...terms];
  }
}

function readOutputs(columns: Columns, name: string, requested: unknown): Output[] {
  const column = resolveColumn(columns, name);
  if (!column) refuse(`group.${name} ${notAColumn(columns)}`);
  const list: unknown[] = Array.isArray(requested) ? requested : [requested];
  return [...new Set(list)].map((operation) => {
    if (!isOperation(operation)) refuse(`group.${name} must be one or more of ${operations.join(', ')}`);
    checkType(name, operation, column);
    return { name: `${name}${operation.charAt(0).toUpperCase()}${operation.slice(1)}`, operation, column };
  });
}

function checkType(name: string, operation: Operation, column: ColumnReference): void {
  const type = column.kind === 'data' ? column.type : column.kind;
  const isNumeric = type === 'number' || type === 'id' || type === 'any';
  if ((operation === 'sum' || operation === 'avg') && !isNumeric)
    refuse(`group.${name}: ${operation} needs a column of type number`);
  if ((operation === 'max' || operation === 'min') && !isNumeric && !isText(type))
    refuse(`group.${name}: ${operation} needs a column of numbers, texts or times`);
}

/** SQL of the value as `jsonb`, NULL when absent. Times are formatted as in responses. */
function sourceOf(column: ColumnReference, values: unknown[]): string {
  switch (column.kind) {
    case 'id':
      return `to_jsonb(row.id)`;
    case 'time':
      return `to_jsonb(to_char(${column.sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;
    case 'data':
      return `nullif(${valueAt(column, values)}, 'null')`;
  }
}

function resultOf({ operation, column }: Output, value: string): string {
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
      return `to_jsonb(${operation}(${isText(column.kind === 'data' ? column.type : column.kind) ? text : number}))`;
  }
}

function typeOf({ operation, column }: Output): DataColumn['type'] {
  if (operation === 'key') return column.kind === 'data' ? column.type : 'any';
  return 'any';
}

function isText(type: string): boolean {
  return type === 'string' || type === 'date-time' || type === 'time';
}

/** JSON.parse reads a number beyond the range of a double as infinite. */
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
