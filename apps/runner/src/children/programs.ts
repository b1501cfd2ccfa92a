import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Path of a program; its name where it is not installed. The processes of code have no PATH. */
export function pathOf(command: string): string {
  return found(command) ?? command;
}

export function isInstalled(command: string): boolean {
  return found(command) !== undefined;
}

function found(command: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, command)).find(existsSync);
}
