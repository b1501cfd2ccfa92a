import { readFileSync } from 'node:fs';
import { ConfigError } from '@parley/config/config';

/** JSON of a file that a variable names. Throws ConfigError. */
export function parsedFile(path: string, variable: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch (error) {
    throw new ConfigError([`${variable} must be the path of a JSON file: ${(error as Error).message}.`]);
  }
}
