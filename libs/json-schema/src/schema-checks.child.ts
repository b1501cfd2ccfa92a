import { JsonLines } from '@parley/background/json-lines';
import { serveTasks } from '@parley/child-processes/serve-tasks';
import { CompiledSchemas, type SchemaCheck } from './compiled-schemas';

/** A compiled schema takes about fifty times the memory of its text. */
const schemas = new CompiledSchemas(500_000);

/** The content is the checks as JsonLines. The result is the first problem. */
serveTasks<null, string | undefined>(async (_task, content) => {
  const checks = (await new JsonLines([content]).parse()) as SchemaCheck[];
  for (const { schema, value, path } of checks) {
    const problem = schemas.get(schema)(value, path);
    if (problem) return problem;
  }
  return undefined;
});
