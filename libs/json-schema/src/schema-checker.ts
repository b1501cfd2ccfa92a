import { JsonLines } from '@parley/background/json-lines';
import { workerFile } from '@parley/background/worker-file';
import { yieldToEventLoop } from '@parley/background/yield-to-event-loop';
import { ChildTasks, TaskFailed } from '@parley/child-processes/child-tasks';
import { unavailable } from '@parley/contracts/errors';
import { CompiledSchemas, type SchemaCheck } from './compiled-schemas';
import { isQuick } from './quick-schema';

const children = 2;
const heapMb = 128;

/** The deadline is shorter than that of the operations that check values, so that none goes on after its caller has gone. */
const limits = { processorMs: 2_000, deadlineMs: 8_000, maxWaitingEach: 100 };

/**
 * Validates values against untrusted schemas. Checks that may take more than some milliseconds run in child processes, so that
 * neither a schema nor a pattern blocks the event loop or exhausts its memory. Throws 503 when no child can do the check at
 * present.
 */
export class SchemaChecker {
  private readonly tasks: ChildTasks<null, string | undefined>;
  private readonly quickSchemas = new CompiledSchemas(200_000);

  constructor(changed: Partial<typeof limits> = {}) {
    this.tasks = new ChildTasks({
      program: workerFile(__dirname, 'schema-checks.child'),
      heapMb,
      residentMb: 2 * heapMb,
      keptResidentMb: heapMb,
      children,
      childrenEach: 1,
      niceness: 0,
      ...limits,
      ...changed,
    });
  }

  /** First validation error as a sentence, or undefined. Tenants take turns. */
  async firstProblem(tenant: string, checks: SchemaCheck[]): Promise<string | undefined> {
    if (!checks.every(isQuick)) return this.checkInChild(tenant, checks);
    for (const { schema, value, path } of checks) {
      const problem = this.quickSchemas.get(schema)(value, path);
      if (problem) return problem;
      if (checks.length > 1) await yieldToEventLoop();
    }
    return undefined;
  }

  async close(): Promise<void> {
    await this.tasks.close();
  }

  private async checkInChild(tenant: string, checks: SchemaCheck[]): Promise<string | undefined> {
    const paths = () => checks.map(({ path }) => path).join(', ');
    try {
      const { parts } = await JsonLines.of(checks);
      return (await this.tasks.run(tenant, null, parts)).result;
    } catch (error) {
      if (!(error instanceof TaskFailed)) throw error;
      switch (error.failure) {
        case 'processor time':
          return `${paths()} takes too long to check against its schema`;
        case 'memory':
          return `${paths()} takes too much memory to check against its schema`;
        case 'busy':
          throw unavailable('Too many values are being validated against their schemas. Try again in a moment.');
        case 'outage':
          throw unavailable(
            'The value cannot be validated against its schema at present. Try again in a moment.',
            error,
          );
      }
    }
  }
}
