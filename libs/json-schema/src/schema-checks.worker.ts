import { CompiledSchemas, firstProblem, type SchemaCheck } from './compiled-schemas';

/** A compiled schema takes some fifty times the memory of its text. */
const schemas = new CompiledSchemas(500_000);

/** What keeps the first value that does not fit its schema from it, as a sentence; undefined when all fit. */
export default function checkValues(checks: SchemaCheck[]): string | undefined {
  return firstProblem(checks, schemas);
}
