import type { Logger } from '@parley/logging/logger';
import Piscina from 'piscina';
import { workerFile } from './worker-file';

type PiscinaOptions = NonNullable<ConstructorParameters<typeof Piscina>[0]>;

const idleTimeoutMs = 30_000;

/**
 * Pool of worker threads for one program; threads start on demand.
 * @param folder `__dirname` of the program's source
 * @param program file name, such as `schema-checks.worker`
 * @param logger logs the failure of a thread without a task; without it that is a process warning
 */
export function openThreadPool(
  folder: string,
  program: string,
  options: Pick<PiscinaOptions, 'maxThreads' | 'resourceLimits' | 'niceIncrement'>,
  logger?: Logger,
): Piscina {
  const pool = new Piscina({
    filename: workerFile(folder, program),
    minThreads: 0,
    idleTimeout: idleTimeoutMs,
    ...options,
  });
  // A thread may fail after its task was aborted. Without a listener for `error`, that would end the process.
  pool.on('error', (error: Error) => {
    if (logger) logger.error({ err: error, program }, 'a thread of a pool ended');
    else process.emitWarning(`A thread of ${program} ended: ${error.message}`);
  });
  return pool;
}
