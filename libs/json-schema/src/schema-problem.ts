import Ajv, { type ValidateFunction } from 'ajv';
import draft7 from 'ajv/dist/refs/json-schema-draft-07.json';
import { fullFormats } from 'ajv-formats/dist/formats';

/** Draft 7, which the SDKs use. Ignores unknown keywords such as `x-zui`. */
export const ajvOptions = { strict: false, logger: false, formats: fullFormats } as const;

let compiled: ValidateFunction | undefined;
/** Without the rule that entries are unique, which Ajv checks in quadratic time: duplicates do no harm. */
const enumSchema = { type: 'array', items: true, minItems: 1 };

/** Compiled when it is first needed: that takes as long as loading a hundred modules. */
function validator(): ValidateFunction {
  // A new `$id`: under the original one, Ajv checks no formats in schemas and accepts any `pattern`.
  return (compiled ??= new Ajv(ajvOptions).compile({
    ...draft7,
    properties: { ...draft7.properties, enum: enumSchema },
    $id: 'draft-07-with-formats',
  }));
}

/** Validates a JSON schema. Returns the problem as a predicate without a subject, or undefined. */
export function schemaProblem(schema: Record<string, unknown>): string | undefined {
  // Schemas of other drafts are read as draft 7.
  const { $schema: _draft, ...rest } = schema;
  const isSchema = validator();
  if (isSchema(rest)) return undefined;
  const [error] = isSchema.errors ?? [];
  return `is not a valid JSON schema: ${error?.instancePath || 'it'} ${error?.message ?? 'is not valid'}`;
}
