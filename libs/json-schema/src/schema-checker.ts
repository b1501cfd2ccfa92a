import { existsSync } from 'node:fs';
import { join, sep } from 'node:path';
import Piscina from 'piscina';
import type { SchemaCheck } from './schema-checks.worker';

const threads = 2;
const idleTimeoutMs = 30_000;
const maxHeapMb = 128;

/**
 * Checks values against schemas that came from outside, on threads of their own, bounded in time and memory: neither a
 * schema nor a pattern in it can hold up anything else.
 */
export class SchemaChecker {
  private readonly pool = new Piscina({
    filename: workerFile(),
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: idleTimeoutMs,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });

  constructor(private readonly timeoutMs = 2_000) {}

  /** What keeps the first value that does not fit its schema from it, as a sentence; undefined when all fit. */
  async firstProblem(checks: SchemaCheck[]): Promise<string | undefined> {
    if (checks.length === 0) return undefined;
    const timeout = AbortSignal.timeout(this.timeoutMs);
    try {
      return (await this.pool.run(checks, { signal: timeout })) as string | undefined;
    } catch (error) {
      const paths = checks.map(({ path }) => path).join(', ');
      if (timeout.aborted) return `${paths} takes too long to check against its schema`;
      if ((error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY')
        return `${paths} takes too much memory to check against its schema`;
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.pool.destroy();
  }
}

/** A thread loads compiled code only: when the sources themselves run, as under jest, it is that of the last build. */
function workerFile(): string {
  const compiled = join(__dirname, 'schema-checks.worker.js');
  if (existsSync(compiled)) return compiled;
  return __dirname.replace(`${sep}libs${sep}`, `${sep}dist${sep}libs${sep}`) + `${sep}schema-checks.worker.js`;
}
