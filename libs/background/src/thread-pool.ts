import Piscina from 'piscina';
import { workerFile } from './worker-file';

type PiscinaOptions = NonNullable<ConstructorParameters<typeof Piscina>[0]>;

const idleTimeoutMs = 30_000;

/**
 * Threads that run one program, started when they are needed.
 * @param folder of the program's source, as `__dirname` has it
 * @param program name of the file, such as `schema-checks.worker`
 */
export function openThreadPool(
  folder: string,
  program: string,
  options: Pick<PiscinaOptions, 'maxThreads' | 'resourceLimits'>,
): Piscina {
  const pool = new Piscina({
    filename: workerFile(folder, program),
    minThreads: 0,
    idleTimeout: idleTimeoutMs,
    ...options,
  });
  // A thread may fail when nobody waits for it any more, as after an abort. Without a listener that ends the process.
  pool.on('error', (error: Error) => process.emitWarning(`A thread of ${program} ended: ${error.message}`));
  return pool;
}
