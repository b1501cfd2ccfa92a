import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandFailed } from './output';

/** Data folder of the embedded mode. */
export function dataFolder(): string {
  return process.env['PARLEY_DATA_DIR'] || '.parley';
}

/** Reads a file of the data folder. Throws CommandFailed with the alternative `instead` when it is missing. */
export function readKeptFile(name: 'credentials.json' | 'secret.key', instead: string): string {
  const folder = dataFolder();
  try {
    return readFileSync(join(folder, name), 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CommandFailed(
      code === 'ENOENT'
        ? `No ${name} in ${folder}: start Parley once (npm start), or ${instead}.`
        : `Cannot read ${name} in ${folder}: ${message}`,
    );
  }
}
