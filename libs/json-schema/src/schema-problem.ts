import Ajv from 'ajv';
import draft7 from 'ajv/dist/refs/json-schema-draft-07.json';
import { fullFormats } from 'ajv-formats/dist/formats';

/** Draft 7, in which the SDKs write schemas; keywords that it does not know, such as `x-zui`, mean nothing to it. */
export const ajvOptions = { strict: false, logger: false, formats: fullFormats } as const;

// Under its own name Ajv would check no formats by it, and so take any pattern for a regular expression.
const isSchema = new Ajv(ajvOptions).compile({ ...draft7, $id: 'draft-07-with-formats' });

/** What keeps this from being a JSON schema, as a sentence without its subject; undefined when nothing does. */
export function schemaProblem(schema: Record<string, unknown>): string | undefined {
  // Written for another draft, it is still read as draft 7.
  const { $schema: _draft, ...rest } = schema;
  if (isSchema(rest)) return undefined;
  const [error] = isSchema.errors ?? [];
  return `is no JSON schema: ${error?.instancePath || 'it'} ${error?.message ?? 'is not valid'}`;
}
