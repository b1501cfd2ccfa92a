import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';

const root = join(__dirname, '..', '..', '..');

/**
 * Path of a worker's compiled program: threads load no TypeScript. When the sources run directly, as under jest, it is
 * the program of the last build.
 * @param folder `__dirname` of the program's source, in the file that starts the thread
 * @param name file name, such as `document.worker`
 */
export function workerFile(folder: string, name: string): string {
  const compiled = join(folder, `${name}.js`);
  return existsSync(compiled) ? compiled : join(root, 'dist', relative(root, folder), `${name}.js`);
}
