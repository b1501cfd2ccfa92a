import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandFailed } from './command-failed';

/** Where the embedded mode keeps everything. */
export function dataFolder(): string {
  return process.env['PARLEY_DATA_DIR'] || '.parley';
}

/** A file that the embedded mode keeps in its data folder. Throws CommandFailed, with what to do instead, when there is none. */
export function readKeptFile(name: 'credentials.json' | 'secret.key', instead: string): string {
  const folder = dataFolder();
  try {
    return readFileSync(join(folder, name), 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CommandFailed(
      code === 'ENOENT'
        ? `There is no ${name} in ${folder}: start Parley here once (npm start), or ${instead}.`
        : `${name} in ${folder} cannot be read: ${message}`,
    );
  }
}
