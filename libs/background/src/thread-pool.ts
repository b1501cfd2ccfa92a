import type { Logger } from '@parley/logging/logger';
import Piscina from 'piscina';
import { workerFile } from './worker-file';

type PiscinaOptions = NonNullable<ConstructorParameters<typeof Piscina>[0]>;

const idleTimeoutMs = 30_000;

/**
 * Threads that run one program, started when they are needed.
 * @param folder of the program's source, as `__dirname` has it
 * @param program name of the file, such as `schema-checks.worker`
 * @param logger of a thread's failure while it has no task; without it that is a warning of the process
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
  // A thread may fail when nobody waits for it any more, as after an abort. Without a listener that ends the process.
  pool.on('error', (error: Error) => {
    if (logger) logger.error({ err: error, program }, 'a thread of a pool ended');
    else process.emitWarning(`A thread of ${program} ended: ${error.message}`);
  });
  return pool;
}
