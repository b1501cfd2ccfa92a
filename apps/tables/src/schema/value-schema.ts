import { isRecord } from '@parley/contracts/is-record';
import { ApiError } from '@parley/contracts/errors';
import { type ColumnType, columnTypes } from '@parley/contracts/tables/table-schema';
import { isEveryObjects, show } from './column-names';
import { Pattern } from './pattern';

/** Schema of a value in a row: the enforced subset of JSON schema (draft 7), and annotations. */
export type ValueSchema = {
  type: ColumnType;
  nullable?: boolean;
  title?: string;
  description?: string;
  /** Annotation only: no default is filled in. */
  default?: unknown;
  examples?: unknown;
  format?: 'date-time';
  pattern?: string;
  enum?: string[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
  items?: ValueSchema;
  minItems?: number;
  maxItems?: number;
  properties?: Record<string, ValueSchema>;
  required?: string[];
  additionalProperties?: boolean | ValueSchema;
  minProperties?: number;
  maxProperties?: number;
};

const types: readonly string[] = columnTypes;
const maxDepth = 8;

/** Keywords that are refused because they would not be enforced. */
const refused = [
  ...['$ref', 'allOf', 'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'patternProperties'],
  ...['dependencies', 'dependentRequired', 'dependentSchemas', 'prefixItems', 'unevaluatedProperties'],
];
const annotations = ['title', 'description'] as const;

/**
 * Parses the JSON schema of a column or of a nested value. Normalizes `type: [T, 'null']` and `anyOf` or `oneOf` of T
 * and null to a nullable T, `const` to an `enum` of one value, and `integer` to a number that is a multiple of 1. Drops
 * keywords without effect on the type. Throws InvalidJsonSchema with the path for schemas that cannot be enforced.
 */
export function readValueSchema(raw: unknown, path: string, depth = 0): ValueSchema {
  if (!isRecord(raw)) throw invalid(path, 'must be a JSON schema such as {"type":"string"}');
  if (depth > maxDepth) throw invalid(path, `is nested deeper than ${maxDepth} levels`);
  const { type, nullable, schema } = readType(withoutNullBranch(raw, path), path);
  return {
    type,
    ...(nullable === undefined ? {} : { nullable }),
    ...readAnnotations(schema, path),
    ...restrictions[type](schema, path, depth),
  };
}

export function invalid(path: string, problem: string): ApiError {
  return new ApiError('InvalidJsonSchema', `schema: column ${path} ${problem}.`);
}

interface Typed {
  type: ColumnType;
  nullable?: boolean;
  schema: Record<string, unknown>;
}

function withoutNullBranch(schema: Record<string, unknown>, path: string): Record<string, unknown> {
  const { anyOf, oneOf, ...rest } = schema;
  const branches = anyOf ?? oneOf;
  if (branches === undefined) return schema;
  if (!Array.isArray(branches) || (anyOf !== undefined && oneOf !== undefined)) throw invalid(path, oneType);
  const [branch, another] = branches.filter((entry) => !isNullSchema(entry)) as unknown[];
  if (!isRecord(branch) || another !== undefined) throw invalid(path, oneType);
  const hasNull = branches.length > 1;
  return withoutNullBranch({ ...rest, ...branch, ...(hasNull ? { nullable: true } : {}) }, path);
}

function isNullSchema(schema: unknown): boolean {
  return isRecord(schema) && (schema.type === 'null' || schema.const === null);
}

const oneType = `must have one type of ${types.join(', ')}, and may be nullable. For free-form data use {"type":"object"}`;

function readType(schema: Record<string, unknown>, path: string): Typed {
  const keyword = refused.find((name) => schema[name] !== undefined);
  if (keyword) throw invalid(path, `may not use ${keyword}: a column has exactly one type, such as {"type":"object"}`);
  const named: unknown[] = [schema.type ?? impliedType(schema)].flat();
  const [type, another] = named.length > 1 ? named.filter((name) => name !== 'null') : named;
  if (another !== undefined) throw invalid(path, oneType);
  const { nullable = named.length > 1 || admitsNull(schema) || undefined } = schema;
  if (nullable !== undefined && typeof nullable !== 'boolean')
    throw invalid(`${path}.nullable`, 'must be true or false');
  if (type === 'integer') return { type: 'number', nullable, schema: wholeNumber(schema, path) };
  if (!types.includes(type as string)) throw invalid(path, oneType);
  return { type: type as ColumnType, nullable, schema };
}

function impliedType({ enum: values, const: constant, properties, items }: Record<string, unknown>): unknown {
  if (constant === null) return 'null';
  if (Array.isArray(values) || constant !== undefined) return 'string';
  if (isRecord(properties)) return 'object';
  return items === undefined ? undefined : 'array';
}

function admitsNull({ enum: values }: Record<string, unknown>): boolean {
  return Array.isArray(values) && values.includes(null);
}

function wholeNumber(schema: Record<string, unknown>, path: string): Record<string, unknown> {
  const { multipleOf = 1 } = schema;
  if (!Number.isInteger(multipleOf))
    throw invalid(`${path}.multipleOf`, 'must be an integer because the column has type integer');
  return { ...schema, multipleOf };
}

function readAnnotations(schema: Record<string, unknown>, path: string): Partial<ValueSchema> {
  const { default: byDefault, examples } = schema;
  return {
    ...pick(schema, annotations, path, 'a string', (value) => typeof value === 'string'),
    ...(byDefault === undefined ? {} : { default: byDefault }),
    ...(examples === undefined ? {} : { examples }),
  };
}

type Restrictions = (schema: Record<string, unknown>, path: string, depth: number) => Partial<ValueSchema>;

const restrictions: Record<ColumnType, Restrictions> = {
  string: (schema, path) => ({
    ...readFormat(schema, path),
    ...readPattern(schema, path),
    ...readEnum(schema, path),
    ...counts(schema, ['minLength', 'maxLength'], path),
  }),
  number: (schema, path) => ({
    ...withoutEnum(schema, path),
    ...pick(
      schema,
      ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
      path,
      'a number',
      (value) => typeof value === 'number',
    ),
    ...pick(schema, ['multipleOf'], path, 'a number above 0', (value) => typeof value === 'number' && value > 0),
  }),
  boolean: withoutEnum,
  null: () => ({}),
  array: (schema, path, depth) => {
    if (schema.uniqueItems === true) throw invalid(path, 'may not use uniqueItems');
    return {
      ...withoutEnum(schema, path),
      ...(schema.items === undefined ? {} : { items: readValueSchema(schema.items, `${path}.items`, depth + 1) }),
      ...counts(schema, ['minItems', 'maxItems'], path),
    };
  },
  object: (schema, path, depth) => ({
    ...withoutEnum(schema, path),
    ...readProperties(schema, path, depth),
    ...readRequired(schema, path),
    ...readAdditional(schema, path, depth),
    ...counts(schema, ['minProperties', 'maxProperties'], path),
  }),
};

function readFormat({ format }: Record<string, unknown>, path: string): Partial<ValueSchema> {
  if (format === undefined) return {};
  if (format !== 'date-time') throw invalid(`${path}.format`, 'must be date-time; use pattern for other formats');
  return { format };
}

function readPattern({ pattern }: Record<string, unknown>, path: string): Partial<ValueSchema> {
  if (pattern === undefined) return {};
  if (typeof pattern !== 'string') throw invalid(`${path}.pattern`, 'must be a string');
  try {
    Pattern.compile(pattern);
  } catch (error) {
    throw invalid(`${path}.pattern`, (error as Error).message);
  }
  return { pattern };
}

function readEnum(schema: Record<string, unknown>, path: string): Partial<ValueSchema> {
  const { const: constant, enum: values = constant === undefined ? undefined : [constant] } = schema;
  if (values === undefined) return {};
  const allowed = Array.isArray(values) ? new Set<unknown>(values.filter((value) => value !== null)) : new Set();
  if (allowed.size === 0 || ![...allowed].every((value) => typeof value === 'string'))
    throw invalid(`${path}.enum`, 'must be a list of strings');
  return { enum: [...allowed] as string[] };
}

function withoutEnum(schema: Record<string, unknown>, path: string): Partial<ValueSchema> {
  if (schema.enum === undefined && schema.const === undefined) return {};
  throw invalid(path, 'may have an enum only when its type is string');
}

function readProperties({ properties }: Record<string, unknown>, path: string, depth: number): Partial<ValueSchema> {
  if (properties === undefined) return {};
  if (!isRecord(properties)) throw invalid(`${path}.properties`, 'must be an object');
  const entries = Object.entries(properties).map(([name, value]) => {
    const inside = `${path}.${show(name)}`;
    if (isEveryObjects(name)) throw invalid(inside, 'has a reserved name');
    return [name, readValueSchema(value, inside, depth + 1)];
  });
  return { properties: Object.fromEntries(entries) as Record<string, ValueSchema> };
}

function readRequired({ required }: Record<string, unknown>, path: string): Partial<ValueSchema> {
  if (required === undefined) return {};
  if (!isNameList(required)) throw invalid(`${path}.required`, 'must be a list of names');
  return required.length === 0 ? {} : { required: [...new Set(required)] };
}

export function isNameList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string' && !isEveryObjects(name));
}

function readAdditional(schema: Record<string, unknown>, path: string, depth: number): Partial<ValueSchema> {
  const { additionalProperties } = schema;
  if (additionalProperties === undefined || additionalProperties === true) return {};
  if (additionalProperties === false) return { additionalProperties };
  // An empty schema restricts nothing.
  if (isRecord(additionalProperties) && Object.keys(additionalProperties).length === 0) return {};
  return {
    additionalProperties: readValueSchema(additionalProperties, `${path}.additionalProperties`, depth + 1),
  };
}

function counts(schema: Record<string, unknown>, names: (keyof ValueSchema)[], path: string): Partial<ValueSchema> {
  return pick(
    schema,
    names,
    path,
    'an integer of at least 0',
    (value) => Number.isInteger(value) && (value as number) >= 0,
  );
}

function pick(
  schema: Record<string, unknown>,
  names: readonly (keyof ValueSchema)[],
  path: string,
  right: string,
  isRight: (value: unknown) => boolean,
): Partial<ValueSchema> {
  const given = names.filter((name) => schema[name] !== undefined);
  const wrong = given.find((name) => !isRight(schema[name]));
  if (wrong) throw invalid(`${path}.${wrong}`, `must be ${right}`);
  return Object.fromEntries(given.map((name) => [name, schema[name]]));
}
