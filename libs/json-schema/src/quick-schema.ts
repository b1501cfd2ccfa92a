import { isRecord } from '@parley/contracts/is-record';
import type { SchemaCheck } from './compiled-schemas';

/** Characters of a schema: compiling takes up to 10 ms for a thousand of them. */
const maxSchemaCharacters = 2_000;
/** Characters of a schema times characters of a value: 20 ms for the worst of both. */
const maxWork = 20_000_000;

const oneSchema = ['not', 'if', 'then', 'else', 'contains', 'propertyNames', 'additionalProperties', 'additionalItems'];
const schemaLists = ['allOf', 'anyOf', 'oneOf'];
const schemaMaps = ['properties', 'dependencies'];
/** What may take longer than the product of both texts says, or reaches into another schema. */
const unbounded = ['$ref', '$id', 'id', 'pattern', 'patternProperties', 'format', 'uniqueItems'];

/** Whether a check certainly takes so little time that it needs no thread of its own, the first one of a schema too. */
export function isQuick({ schema, value }: SchemaCheck): boolean {
  const characters = JSON.stringify(schema).length;
  if (characters > maxSchemaCharacters || !isBounded(schema)) return false;
  return characters * (JSON.stringify(value) ?? '').length <= maxWork;
}

/** Whether each part of the schema looks at each part of a value once at most. */
function isBounded(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isBounded);
  if (!isRecord(schema)) return true;
  if (unbounded.some((keyword) => schema[keyword] !== undefined)) return false;
  return (
    [...oneSchema, ...schemaLists, 'items'].every((keyword) => isBounded(schema[keyword])) &&
    schemaMaps.every((keyword) => Object.values(schema[keyword] ?? {}).every(isBounded))
  );
}
