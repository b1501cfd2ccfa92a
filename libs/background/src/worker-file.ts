import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';

const root = join(__dirname, '..', '..', '..');

/**
 * Where a thread finds its program. It loads compiled code only: when the sources themselves run, as under jest, that of
 * the last build.
 * @param folder of the program's source, as `__dirname` has it where the thread is started
 * @param name of the program, such as `document.worker`
 */
export function workerFile(folder: string, name: string): string {
  const compiled = join(folder, `${name}.js`);
  return existsSync(compiled) ? compiled : join(root, 'dist', relative(root, folder), `${name}.js`);
}
