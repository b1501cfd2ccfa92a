import { mapEntries } from '@parley/contracts/entries';
import { isRecord } from '@parley/contracts/is-record';

type Schema = Record<string, unknown>;

/** Keys of the opened schema: the schema as it was written, and the opened form of a `oneOf`. */
const written = 'x-as-written';
const opened = 'x-one-of-opened';

const refusal = /"(?:additional|unevaluated)Properties":false/;
const reference = '"$ref"';
const schemas = ['items', 'additionalItems', 'contains', 'additionalProperties', 'allOf', 'anyOf', 'then', 'else'];
const schemaMaps = ['properties', 'patternProperties', 'dependencies', 'definitions', '$defs'];
const choosing = ['not', 'if'];
const data = ['const', 'enum', 'default', 'examples'];

/**
 * The schema without its refusals of unknown keys: schema libraries write `additionalProperties: false` for each plain
 * object, and mean that unknown keys are dropped. In `not`, `if` and `oneOf` they still choose: `oneOf` holds if exactly
 * one schema fits as it is written, or if none does and one fits when it is opened.
 */
export function openSchema(schema: Schema): Schema {
  const text = JSON.stringify(schema);
  if (!refusal.test(text)) return schema;
  const result = openObject(schema);
  return text.includes(reference) ? { ...result, [written]: asWritten(schema) } : result;
}

function open(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(open);
  return isRecord(value) ? openObject(value) : value;
}

function openObject({ oneOf, additionalProperties, unevaluatedProperties: _, ...schema }: Schema): Schema {
  const result: Schema = { ...schema, ...(isRecord(additionalProperties) && { additionalProperties }) };
  for (const [keyword, value] of Object.entries(result)) {
    if (schemas.includes(keyword)) result[keyword] = open(value);
    else if (schemaMaps.includes(keyword) && isRecord(value)) result[keyword] = mapEntries(value, open);
    else if (choosing.includes(keyword)) result[keyword] = asWritten(value);
    else if (keyword === '$ref' && typeof value === 'string')
      result[keyword] = value.replaceAll('/oneOf/', `/${opened}/`);
  }
  if (oneOf === undefined) return result;
  const text = JSON.stringify(oneOf);
  if (!refusal.test(text) && !text.includes(reference)) return { ...result, oneOf };
  const [closed, alternatives] = [asWritten(oneOf), open(oneOf)];
  const choice = { if: { anyOf: closed }, then: { oneOf: closed }, else: { anyOf: alternatives } };
  return { ...result, [opened]: alternatives, allOf: [...[result['allOf'] ?? []].flat(), choice] };
}

/** A copy in which references lead to other parts of the schema as they were written. */
function asWritten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asWritten);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inside]) => {
      if (data.includes(key)) return [key, inside];
      const isReference = key === '$ref' && typeof inside === 'string';
      return [key, isReference ? inside.replace(/^#(?=\/|$)/, `#/${written}`) : asWritten(inside)];
    }),
  );
}
