import { ApiError } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';
import { toUtc } from './date-time';

/** Columns of a client's schema: a JSON schema each, or `null` to delete the column. */
export interface SchemaInput {
  $schema?: string;
  columns: [name: string, schema: unknown][];
  required?: unknown;
}

type Entries = Record<string, unknown>;

/**
 * Parses `schema` in one of three forms, tried in this order:
 * 1. Full JSON schema: only keywords at the top, with `type: "object"` and an object as `properties`, or without `type`
 * and with an object of objects as `properties`. `{ "type": "object" }` and `{}` count as well.
 * 2. Map of columns: at least one value is a JSON schema, which is an object with a `type` of JSON schema, or with only
 * keywords of which one restricts the values. Then all values must be JSON schemas.
 * 3. Example row: the types are inferred from its values. In each form, `null` deletes a column, where that is allowed.
 */
export function readSchemaInput(input: Entries): SchemaInput {
  if (isFullSchema(input)) return fromFullSchema(input);
  const entries = Object.entries(input);
  const isMap = entries.every(([, value]) => value === null) || entries.some(([, value]) => isSchema(value));
  if (isMap) return { columns: entries };
  return { columns: entries.map(([name, value]) => [name, value === null ? null : infer(value, 0)]) };
}

const bareKeywords = new Set(['$schema', 'type', 'required', 'additionalProperties', 'x-zui']);
const annotations = ['$id', '$comment', 'title', 'description', 'definitions', '$defs', 'default', 'examples'];
const fullKeywords = new Set([...bareKeywords, ...annotations, 'properties']);

function isFullSchema(input: Entries): boolean {
  const { type, properties } = input;
  const names = Object.keys(input);
  if (properties === undefined)
    return names.length === 0 || (type === 'object' && names.every((name) => bareKeywords.has(name)));
  if (!isRecord(properties) || !names.every((name) => fullKeywords.has(name))) return false;
  if (type !== undefined) return type === 'object';
  return Object.values(properties).every((value) => value === null || isRecord(value));
}

function fromFullSchema({ $schema, properties = {}, required = [] }: Entries): SchemaInput {
  if ($schema !== undefined && typeof $schema !== 'string')
    throw new ApiError('InvalidJsonSchema', 'schema.$schema must be a string.');
  return { ...($schema === undefined ? {} : { $schema }), columns: Object.entries(properties as Entries), required };
}

const schemaTypes = new Set<unknown>(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
const tellingKeywords = ['type', 'anyOf', 'oneOf', 'allOf', 'enum', 'const', '$ref', 'x-zui'];
const keywords = new Set([
  ...tellingKeywords,
  ...['title', 'description', 'default', 'examples', 'nullable', 'format', 'pattern', 'minLength', 'maxLength'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'items', 'minItems', 'maxItems'],
  ...['uniqueItems', 'properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'],
]);

function isSchema(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const types = [value.type].flat();
  if (types.length > 0 && types.every((type) => schemaTypes.has(type))) return true;
  const names = Object.keys(value);
  return names.every((name) => keywords.has(name)) && names.some((name) => tellingKeywords.includes(name));
}

const maxInferredDepth = 8;

/** Infers the JSON schema of an example value. Values inside of it are nullable. */
function infer(value: unknown, depth: number): Entries {
  if (typeof value === 'string') return toUtc(value) ? { type: 'string', format: 'date-time' } : { type: 'string' };
  if (Array.isArray(value)) return { type: 'array', ...(depth < maxInferredDepth ? inferItems(value, depth) : {}) };
  if (!isRecord(value)) return { type: typeof value };
  return { type: 'object', ...(depth < maxInferredDepth ? inferProperties(value, depth) : {}) };
}

function inferProperties(value: Entries, depth: number): Entries {
  const known = Object.entries(value).filter(([, entry]) => entry !== null);
  const properties = known.map(([name, entry]) => [name, { ...infer(entry, depth + 1), nullable: true }]);
  return { properties: Object.fromEntries(properties) as Entries };
}

function inferItems(values: unknown[], depth: number): Entries {
  const items = values.filter((value) => value !== null).map((value) => infer(value, depth + 1));
  const [first] = items;
  if (first === undefined) return {};
  const sameSchema = items.every((item) => JSON.stringify(item) === JSON.stringify(first));
  if (sameSchema) return { items: { ...first, nullable: true } };
  return items.every(({ type }) => type === first.type) ? { items: { type: first.type, nullable: true } } : {};
}
