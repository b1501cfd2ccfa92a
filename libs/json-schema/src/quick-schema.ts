import { isRecord } from '@parley/contracts/is-record';
import type { SchemaCheck } from './compiled-schemas';

/** Characters of a schema: compiling takes up to 10 ms per thousand. */
const maxSchemaCharacters = 2_000;
/** Characters of the schema times characters of the value: 20 ms in the worst case. */
const maxWork = 20_000_000;

const oneSchema = ['not', 'if', 'then', 'else', 'contains', 'propertyNames', 'additionalProperties', 'additionalItems'];
const schemaLists = ['allOf', 'anyOf', 'oneOf'];
const schemaMaps = ['properties', 'dependencies'];
/** Keywords whose time is not bounded by that product, or that refer to another schema. */
const unbounded = ['$ref', '$id', 'id', 'pattern', 'patternProperties', 'format', 'uniqueItems'];

/** Whether a check, including the compilation, is fast enough for the event loop thread. */
export function isQuick({ schema, value }: SchemaCheck): boolean {
  const characters = JSON.stringify(schema).length;
  if (characters > maxSchemaCharacters || !isBounded(schema)) return false;
  return characters * (JSON.stringify(value) ?? '').length <= maxWork;
}

/** Whether each part of the schema reads each part of the value at most once. */
function isBounded(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isBounded);
  if (!isRecord(schema)) return true;
  if (unbounded.some((keyword) => schema[keyword] !== undefined)) return false;
  return (
    [...oneSchema, ...schemaLists, 'items'].every((keyword) => isBounded(schema[keyword])) &&
    schemaMaps.every((keyword) => Object.values(schema[keyword] ?? {}).every(isBounded))
  );
}
