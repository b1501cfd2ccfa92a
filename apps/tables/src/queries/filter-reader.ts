import { ApiError } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';
import { toUtcOfDate } from '../schema/date-time';
import { type Columns, resolveColumn, notAColumn, type ColumnReference } from './column-reference';
import type { Comparison, Filter } from './filter';

const limits = {
  /** Nesting levels of `$and`, `$or` and `$not`. */
  depth: 10,
  conditions: 100,
  /** Values in all `$in` and `$nin` together. */
  choices: 1000,
  expressions: 10,
  expression: 250,
  /** Nesting levels of objects and arrays within a value. */
  valueDepth: 20,
  shownName: 100,
};

const operatorNames = '$eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $mod, $size, $regex, $not';

const comparisons = new Map<string, Comparison>([
  ['$gt', '>'],
  ['$gte', '>='],
  ['$lt', '<'],
  ['$lte', '<='],
]);

type Type = 'id' | 'time' | Extract<ColumnReference, { kind: 'data' }>['type'];

/** Parses and validates a filter of `findTableRows`. Throws InvalidPayload with the path of the invalid part. */
export function readFilter(filter: Record<string, unknown>, columns: Columns): Filter {
  return new FilterReader(columns).read(filter, 'filter', 1);
}

class FilterReader {
  private conditions = 0;
  private choices = 0;
  private expressions = 0;

  constructor(private readonly columns: Columns) {}

  read(value: unknown, path: string, depth: number): Filter {
    if (!isRecord(value)) refuse(path, 'must be an object');
    if (depth > limits.depth) refuse(path, `is nested more than ${limits.depth} levels deep`);
    const of = Object.entries(value).map(([name, entry]) =>
      this.readEntry(name, entry, `${path}.${shown(name)}`, depth),
    );
    return { kind: 'all', of };
  }

  private readEntry(name: string, value: unknown, path: string, depth: number): Filter {
    switch (name) {
      case '$and':
        return { kind: 'all', of: this.readList(value, path, depth) };
      case '$or':
        return { kind: 'some', of: this.readList(value, path, depth) };
      case '$not':
        return { kind: 'not', of: this.read(value, path, depth + 1) };
      default: {
        const column = resolveColumn(this.columns, name);
        if (column) return this.readConditions(column, value, path, depth);
        return refuse(
          path,
          name.startsWith('$') ? 'is not a known operator: use $and, $or or $not' : notAColumn(this.columns),
        );
      }
    }
  }

  private readList(value: unknown, path: string, depth: number): Filter[] {
    if (!Array.isArray(value) || value.length === 0) refuse(path, 'must be an array with at least one filter');
    return value.map((entry, index) => this.read(entry, `${path}.${index}`, depth + 1));
  }

  private readConditions(column: ColumnReference, value: unknown, path: string, depth: number): Filter {
    if (!isRecord(value) || !Object.keys(value).some(isOperator)) return this.readEquality(column, value, path);
    if (depth > limits.depth) refuse(path, `is nested more than ${limits.depth} levels deep`);
    const operators = Object.entries(value).filter(([name]) => name !== '$options' || !Object.hasOwn(value, '$regex'));
    const of = operators.map(([name, operand]) => {
      const operatorPath = `${path}.${shown(name)}`;
      if (name === '$not') return opposite(this.readConditions(column, operand, operatorPath, depth + 1));
      return this.readOperator(column, name, operand, operatorPath, value.$options);
    });
    return { kind: 'all', of };
  }

  private readOperator(
    column: ColumnReference,
    name: string,
    operand: unknown,
    path: string,
    options: unknown,
  ): Filter {
    const comparison = comparisons.get(name);
    if (comparison) return this.readComparison(column, comparison, operand, path);
    switch (name) {
      case '$eq':
        return this.readEquality(column, operand, path);
      case '$ne':
        return opposite(this.readEquality(column, operand, path));
      case '$in':
        return this.readChoices(column, operand, path);
      case '$nin':
        return opposite(this.readChoices(column, operand, path));
      case '$exists':
        return this.readExistence(column, operand, path);
      case '$mod':
        return this.readRemainder(column, operand, path);
      case '$size':
        return this.readSize(column, operand, path);
      case '$regex':
        return this.readExpression(column, operand, path, options);
      case '$options':
        return refuse(path, 'is allowed only next to $regex');
      default:
        return refuse(
          path,
          isOperator(name)
            ? `is not one of ${operatorNames}`
            : 'is not an operator: operators and fields cannot be mixed',
        );
    }
  }

  private readEquality(column: ColumnReference, value: unknown, path: string): Filter {
    this.countCondition(path);
    if (value === null) return opposite({ kind: 'exists', column });
    return { kind: 'equals', column, value: readValue(column, value, path) };
  }

  private readChoices(column: ColumnReference, value: unknown, path: string): Filter {
    this.countCondition(path);
    if (!Array.isArray(value)) refuse(path, 'must be an array');
    this.choices += value.length;
    if (this.choices > limits.choices)
      refuse(path, `exceeds the limit of ${limits.choices} values in all $in and $nin of a filter`);
    const values = value.filter((entry) => entry !== null).map((entry) => readValue(column, entry, path));
    const oneOf: Filter = { kind: 'one of', column, values };
    return values.length === value.length ? oneOf : { kind: 'some', of: [oneOf, opposite({ kind: 'exists', column })] };
  }

  private readComparison(column: ColumnReference, comparison: Comparison, operand: unknown, path: string): Filter {
    this.countCondition(path);
    const type = typeOf(column);
    if (type === 'boolean' || type === 'object' || type === 'null') refuseOperator(path, type);
    const value = readValue(column, operand, path);
    if (typeof value !== 'number' && typeof value !== 'string') refuse(path, 'must be a number or a string');
    return { kind: 'compare', column, comparison, value };
  }

  private readExistence(column: ColumnReference, operand: unknown, path: string): Filter {
    this.countCondition(path);
    if (typeof operand !== 'boolean') refuse(path, 'must be a boolean');
    const exists: Filter = { kind: 'exists', column };
    return operand ? exists : opposite(exists);
  }

  private readRemainder(column: ColumnReference, operand: unknown, path: string): Filter {
    this.countCondition(path);
    const type = typeOf(column);
    if (!['id', 'number', 'array', 'any'].includes(type)) refuseOperator(path, type);
    const [divisor, remainder] = Array.isArray(operand) && operand.length === 2 ? (operand as unknown[]) : [];
    if (!isInteger(divisor) || !isInteger(remainder) || divisor === 0)
      refuse(path, 'must be a divisor other than 0 and a remainder, both integers');
    return { kind: 'remainder', column, divisor, remainder };
  }

  private readSize(column: ColumnReference, operand: unknown, path: string): Filter {
    this.countCondition(path);
    const type = typeOf(column);
    if (column.kind !== 'data' || (type !== 'array' && type !== 'any')) refuseOperator(path, type);
    if (!isInteger(operand) || operand < 0) refuse(path, 'must be an integer of at least 0');
    return { kind: 'size', column, size: operand };
  }

  private readExpression(column: ColumnReference, operand: unknown, path: string, options: unknown): Filter {
    this.countCondition(path);
    const type = typeOf(column);
    if (column.kind !== 'data' || !['string', 'date-time', 'array', 'any'].includes(type)) refuseOperator(path, type);
    if (typeof operand !== 'string') refuse(path, 'must be a string');
    if (operand.length > limits.expression) refuse(path, `must be at most ${limits.expression} characters`);
    if (options !== undefined && options !== 'i' && options !== 'c')
      refuse(path.replace(/\$regex$/, '$options'), 'must be "i", which ignores case, or "c", which does not');
    this.expressions += 1;
    if (this.expressions > limits.expressions)
      refuse(path, `exceeds the limit of ${limits.expressions} regular expressions per filter`);
    return { kind: 'matches', column, name: path, pattern: operand, isCaseSensitive: options !== 'i' };
  }

  private countCondition(path: string): void {
    this.conditions += 1;
    if (this.conditions > limits.conditions)
      refuse(path, `exceeds the limit of ${limits.conditions} conditions per filter`);
  }
}

function readValue(column: ColumnReference, value: unknown, path: string): unknown {
  if (!isShallow(value)) refuse(path, `is nested more than ${limits.valueDepth} levels deep`);
  const type = typeOf(column);
  switch (type) {
    case 'id':
    case 'number':
      return typeof value === 'number' ? value : refuse(path, 'must be a number');
    case 'time':
    case 'date-time':
      return readTime(value) ?? refuse(path, 'must be a date, or a date and time such as 2025-01-31T12:00:00Z');
    case 'string':
    case 'boolean':
      return typeof value === type ? value : refuse(path, `must be a ${type}`);
    case 'object':
      return isRecord(value) ? value : refuse(path, 'must be an object');
    case 'null':
      return refuse(path, 'must be null because the column has type null');
    case 'array':
    case 'any':
      return value;
  }
}

function readTime(value: unknown): string | undefined {
  return typeof value === 'string' ? toUtcOfDate(value) : undefined;
}

function typeOf(column: ColumnReference): Type {
  return column.kind === 'data' ? column.type : column.kind;
}

function opposite(of: Filter): Filter {
  return { kind: 'not', of };
}

function isOperator(name: string): boolean {
  return name.startsWith('$');
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isShallow(value: unknown, depth = limits.valueDepth): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((entry) => isShallow(entry, depth - 1));
}

function refuseOperator(path: string, type: Type): never {
  const names: Partial<Record<Type, string>> = { id: 'the id', time: 'a time' };
  return refuse(path, `is not supported for ${names[type] ?? `a column of type ${type}`}`);
}

function refuse(path: string, complaint: string): never {
  throw new ApiError('InvalidPayload', `${path} ${complaint}.`);
}

function shown(name: string): string {
  return name.length > limits.shownName ? `${name.slice(0, limits.shownName)}…` : name;
}
