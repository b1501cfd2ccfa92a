import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Content of postmaster.pid: what a running server stores about itself in its data folder. */
export interface PidFile {
  pid: number;
  data: string;
  port: number;
  isReady: boolean;
}

/** Null when there is no file, or when the server has not completed it yet. */
export async function readPidFile(data: string): Promise<PidFile | null> {
  const text = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
  // Lines: pid, data folder, start time, port, socket folder, address, shared memory, status.
  const lines = text.split('\n').map((line) => line.trim());
  if (!Number(lines[0]) || !lines[1]) return null;
  return { pid: Number(lines[0]), data: lines[1], port: Number(lines[3]), isReady: lines[7] === 'ready' };
}

/**
 * Replaces the process id by our own, which Postgres ignores because it is our child. Keeps the other lines: from them
 * Postgres finds out whether children of the dead server still hold its memory.
 */
export async function disownPidFile(data: string): Promise<void> {
  const path = join(data, 'postmaster.pid');
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replace(/^.*/, `${process.pid}`));
}
