import Piscina from 'piscina';
import { workerFile } from './worker-file';

type PiscinaOptions = NonNullable<ConstructorParameters<typeof Piscina>[0]>;

const idleTimeoutMs = 30_000;

/**
 * Pool of worker threads for one program; threads start on demand. Without limits of memory: a thread that ends near such a
 * limit can end the whole process, so work that needs one runs in a child process (`ChildTasks`).
 * @param folder `__dirname` of the program's source
 * @param program file name, such as `row-code.worker`
 */
export function openThreadPool(
  folder: string,
  program: string,
  options: Pick<PiscinaOptions, 'maxThreads' | 'niceIncrement'>,
): Piscina {
  const filename = workerFile(folder, program);
  const pool = new Piscina({ filename, minThreads: 0, idleTimeout: idleTimeoutMs, ...options });
  // A thread may fail after its task was aborted. Without a listener for `error`, that would end the process.
  pool.on('error', (error: Error) => process.emitWarning(`A thread of ${program} ended: ${error.message}`));
  return pool;
}
