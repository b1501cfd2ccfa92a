import { costOf } from '@parley/background/json-lines';
import { isRecord } from '@parley/contracts/is-record';
import type { SchemaCheck } from './compiled-schemas';

/** Characters and parts of a schema: compiling takes 0.2 ms a part, and up to 5 ms per thousand characters. */
const maxSchemaCharacters = 2_000;
const maxSchemaParts = 60;
/** Characters of a value, and characters of the schema times those of the value: 10 ms in the worst case. */
const maxValueCost = 200_000;
const maxWork = 12_000_000;

const oneSchema = ['not', 'if', 'then', 'else', 'contains', 'propertyNames', 'additionalProperties', 'additionalItems'];
const schemaLists = ['allOf', 'anyOf', 'items'];
const schemaMaps = ['properties', 'dependencies'];
/** Keywords whose time is not bounded by that product, or that refer to another schema. */
const unbounded = ['$ref', '$id', 'id', 'pattern', 'patternProperties', 'format', 'uniqueItems'];

/** Whether a check, including the compilation, is fast enough for the event loop thread. */
export function isQuick({ schema, value }: SchemaCheck): boolean {
  const characters = JSON.stringify(schema).length;
  if (characters > maxSchemaCharacters || partsOf(schema) > maxSchemaParts) return false;
  if (costOf(value, maxValueCost) > maxValueCost) return false;
  return characters * (JSON.stringify(value) ?? '').length <= maxWork;
}

/** Number of schemas in a schema. Infinity unless each of them reads each part of the value at most once. */
function partsOf(schema: unknown): number {
  if (Array.isArray(schema)) return sum(schema);
  if (!isRecord(schema)) return 0;
  if (unbounded.some((keyword) => schema[keyword] !== undefined)) return Infinity;
  const inside = [...oneSchema, ...schemaLists].map((keyword) => schema[keyword]);
  const inMaps = schemaMaps.flatMap((keyword): unknown[] => Object.values(schema[keyword] ?? {}));
  // `openSchema` repeats the schemas of `oneOf`.
  return 1 + sum([...inside, ...inMaps]) + 3 * partsOf(schema['oneOf']);
}

function sum(schemas: unknown[]): number {
  return schemas.reduce<number>((total, schema) => total + partsOf(schema), 0);
}
