import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Path of an installed program. Child processes have no PATH to look for it themselves. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find(existsSync);
}
