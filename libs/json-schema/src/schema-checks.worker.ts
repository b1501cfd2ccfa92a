import { CompiledSchemas, firstProblem, type SchemaCheck } from './compiled-schemas';

/** A compiled schema takes about fifty times the memory of its text. */
const schemas = new CompiledSchemas(500_000);

export default function checkValues(checks: SchemaCheck[]): string | undefined {
  return firstProblem(checks, schemas);
}
