import { ApiError } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';
import { toUtc } from './date-time';

/** What a client says of columns: the JSON schema of each, `null` for one that goes. */
export interface SchemaInput {
  $schema?: string;
  columns: [name: string, schema: unknown][];
  /** Which columns are required; undefined when the client has not said. */
  required?: unknown;
}

type Entries = Record<string, unknown>;

/**
 * Reads `schema` in one of its three shapes, told apart in this order:
 * 1. A full JSON schema has nothing but keywords at the top: `type: "object"` and `properties` that are an object, or
 *    no `type` and `properties` that are an object of objects. `{ "type": "object" }` alone is one, too, and so is `{}`.
 * 2. A map of columns has at least one value that is a JSON schema: an object with a `type` of JSON schema, or with
 *    nothing but keywords, one of which says what values are allowed. Then all values must be JSON schemas.
 * 3. Anything else is an example row, from which the types are inferred.
 * In each shape a column that is `null` goes, if it may.
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

/** The JSON schema that a value of an example fits; inside of one, null may stand wherever a value does. */
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

/** What all items have in common: the whole schema, or the type, or nothing. */
function inferItems(values: unknown[], depth: number): Entries {
  const items = values.filter((value) => value !== null).map((value) => infer(value, depth + 1));
  const [first] = items;
  if (first === undefined) return {};
  const sameSchema = items.every((item) => JSON.stringify(item) === JSON.stringify(first));
  if (sameSchema) return { items: { ...first, nullable: true } };
  return items.every(({ type }) => type === first.type) ? { items: { type: first.type, nullable: true } } : {};
}
