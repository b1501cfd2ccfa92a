import { ApiError } from '@parley/contracts/errors';
import { expressionProblem, isStopped } from '@parley/persistence/errors';
import { toJsonb, toText } from '@parley/persistence/storable';
import { type DataColumn, valueAt } from './column-reference';
import { type Comparison, expressionsOf, type Filter, type Matches } from './filter';

/** Longer lists of values are compared by hash: each additional `@>` is evaluated for every row that is read. */
const maxContained = 20;

const idRange = { min: -(2 ** 31), max: 2 ** 31 };

type Leaf<Kind extends Filter['kind']> = Extract<Filter, { kind: Kind }>;

/**
 * SQL condition over `row`, true or false for every row; appends its parameters to `values`. It cannot fail for any
 * data, except for a regular expression that Postgres rejects.
 */
export function conditionOf(filter: Filter, values: unknown[]): string {
  switch (filter.kind) {
    case 'all':
      return joined(filter.of, ' AND ', 'true', values);
    case 'some':
      return joined(filter.of, ' OR ', 'false', values);
    case 'not':
      return `NOT ${conditionOf(filter.of, values)}`;
    case 'exists':
      if (filter.column.kind !== 'data') return 'true';
      return `coalesce(jsonb_typeof(${valueAt(filter.column, values)}) <> 'null', false)`;
    case 'equals':
      return equals(filter, values);
    case 'one of':
      return oneOf(filter, values);
    case 'compare':
      return compare(filter, values);
    case 'remainder':
      return leavesRemainder(filter, values);
    case 'size': {
      const value = valueAt(filter.column, values);
      const length = `jsonb_array_length(${value}) = $${values.push(filter.size)}::bigint`;
      return `CASE WHEN jsonb_typeof(${value}) = 'array' THEN ${length} ELSE false END`;
    }
    case 'matches': {
      const operator = matchOperator(filter);
      const pattern = `$${values.push(toText(filter.pattern))}::text`;
      return someItem(
        filter.column,
        values,
        (item) => `${isOfType(item, 'string')} AND ${textOf(item)} ${operator} ${pattern}`,
      );
    }
  }
}

export function matchOperator({ isCaseSensitive }: Matches): string {
  return isCaseSensitive ? '~' : '~*';
}

/** Whether the GIN index over `data` narrows the search to few rows beside the matches. */
export function isIndexed(filter: Filter): boolean {
  switch (filter.kind) {
    case 'all':
      return filter.of.some(isIndexed);
    case 'some':
      return filter.of.every(isIndexed);
    case 'equals':
      return filter.column.kind === 'data' && isContained(filter.column) && hasScalar(filter.value);
    case 'one of': {
      const { column, values } = filter;
      return column.kind === 'data' && isContained(column) && values.length <= maxContained && values.every(hasScalar);
    }
    case 'not':
    case 'exists':
    case 'compare':
    case 'remainder':
    case 'size':
    case 'matches':
      return false;
  }
}

function joined(filters: Filter[], operator: string, none: string, values: unknown[]): string {
  if (filters.length === 0) return none;
  return `(${filters.map((filter) => conditionOf(filter, values)).join(operator)})`;
}

function equals({ column, value }: Leaf<'equals'>, values: unknown[]): string {
  switch (column.kind) {
    case 'id':
      return isId(value) ? `row.id = $${values.push(value)}::integer` : 'false';
    case 'time':
      return `${column.sql} = $${values.push(value)}::timestamptz`;
    case 'data':
      return isContained(column) ? contains(column, value, values) : isAnyOf(column, [value], values);
  }
}

/** Equality by `@>`, which can use the index over `data`. Objects and arrays need an exact comparison in addition. */
function contains(column: DataColumn, value: unknown, values: unknown[]): string {
  const contained = (part: unknown) => `row.data @> $${values.push(toJsonb(within(column, part)))}::jsonb`;
  if (!isCompound(value)) {
    if (column.type === 'any') return `(${contained(value)} OR ${contained([value])})`;
    return contained(column.type === 'array' ? [value] : value);
  }
  const exactly = isAnyOf(column, [value], values);
  if (column.type === 'object') return `(${contained(value)} AND ${exactly})`;
  return `((${contained(value)} OR ${contained([value])}) AND ${exactly})`;
}

function oneOf({ column, values: choices }: Leaf<'one of'>, values: unknown[]): string {
  switch (column.kind) {
    case 'id':
      return `row.id = ANY($${values.push(choices.filter(isId))}::integer[])`;
    case 'time':
      return `${column.sql} = ANY($${values.push(choices)}::timestamptz[])`;
    case 'data':
      if (choices.length > maxContained) return isAnyOf(column, choices, values);
      return joined(
        choices.map((value) => ({ kind: 'equals', column, value })),
        ' OR ',
        'false',
        values,
      );
  }
}

function isAnyOf(column: DataColumn, choices: unknown[], values: unknown[]): string {
  const any = `ANY($${values.push(choices.map(toJsonb))}::jsonb[])`;
  const item = someItem(column, values, (value) => `${value} = ${any}`);
  return hasItems(column) ? `(coalesce(${valueAt(column, values)} = ${any}, false) OR ${item})` : item;
}

function compare({ column, comparison, value }: Leaf<'compare'>, values: unknown[]): string {
  if (column.kind === 'id') return `row.id ${comparison} $${values.push(idBound(comparison, value as number))}::bigint`;
  if (column.kind === 'time') return `${column.sql} ${comparison} $${values.push(value)}::timestamptz`;
  if (typeof value === 'number') {
    const number = `$${values.push(toJsonb(value))}::jsonb`;
    return someItem(column, values, (item) => `${isOfType(item, 'number')} AND ${item} ${comparison} ${number}`);
  }
  const text = `$${values.push(toText(value))}::text`;
  return someItem(
    column,
    values,
    (item) => `${isOfType(item, 'string')} AND ${textOf(item)} COLLATE "C" ${comparison} ${text}`,
  );
}

function leavesRemainder({ column, divisor, remainder }: Leaf<'remainder'>, values: unknown[]): string {
  const by = `$${values.push(divisor)}::numeric`;
  const rest = `$${values.push(remainder)}::numeric`;
  if (column.kind !== 'data') return `mod(row.id::numeric, ${by}) = ${rest}`;
  return someItem(
    column,
    values,
    (item) =>
      `CASE WHEN ${isOfType(item, 'number')} THEN mod(trunc((${item})::numeric), ${by}) = ${rest} ELSE false END`,
  );
}

/** Whether the condition holds for the value or, if it can be an array, for one of its elements. */
function someItem(column: DataColumn, values: unknown[], condition: (item: string) => string): string {
  const value = `(${valueAt(column, values)})`;
  if (!hasItems(column)) return `coalesce(${condition(value)}, false)`;
  const items = `CASE jsonb_typeof${value} WHEN 'array' THEN ${value} ELSE jsonb_build_array(${value}) END`;
  return `EXISTS (SELECT FROM jsonb_array_elements(${items}) AS item(value) WHERE ${condition('item.value')})`;
}

function hasItems({ type }: DataColumn): boolean {
  return type === 'array' || type === 'any';
}

function isOfType(item: string, type: 'number' | 'string'): string {
  return `jsonb_typeof(${item}) = '${type}'`;
}

function textOf(item: string): string {
  return `(${item} #>> '{}')`;
}

/** True for a path that the operand of `@>` can express: fields, but no array positions. */
function isContained({ path }: DataColumn): boolean {
  return !path.some((field) => /^[\s+-]*\d+$/.test(field));
}

function within({ key, path }: DataColumn, value: unknown): unknown {
  return [key, ...path].reduceRight<unknown>((inner, field) => ({ [field]: inner }), value);
}

function isCompound(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * True when the value contains a scalar. The index contains scalars only: a value without one would match every row in
 * it.
 */
function hasScalar(value: unknown): boolean {
  return !isCompound(value) || Object.values(value).some(hasScalar);
}

function isId(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= idRange.min && (value as number) < idRange.max;
}

/** Rounds a bound to an integer with the same meaning, so that the index over ids can be used. */
function idBound(comparison: Comparison, value: number): number {
  const bound = comparison === '>' || comparison === '<=' ? Math.floor(value) : Math.ceil(value);
  return Math.min(Math.max(bound, idRange.min - 1), idRange.max);
}

/** InvalidPayload when Postgres rejects an expression or cannot compile it in time; otherwise the error itself. */
export function ofCompiling({ name }: Matches, error: unknown): unknown {
  return refusal(name, isStopped(error) ? 'the expression is too complex' : expressionProblem(error), error);
}

/**
 * InvalidPayload when an expression is too complex for the text of a row. Postgres does not report which of several
 * expressions failed. A timeout stays a timeout: it may be due to the filter as a whole.
 */
export function ofMatching(filter: Filter, error: unknown): unknown {
  const names = expressionsOf(filter).map(({ name }) => name);
  if (names.length === 0) return error;
  return refusal(names.length === 1 ? names[0]! : `One of ${names.join(', ')}`, expressionProblem(error), error);
}

function refusal(names: string, problem: string | undefined, cause: unknown): unknown {
  return problem === undefined ? cause : new ApiError('InvalidPayload', `${names}: ${problem}.`, { cause });
}
