import { realpath } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { disownPidFile, readPidFile } from './pid-file';
import { findProcess, isRunning, type RunningProcess } from './processes';
import { stopServer } from './server';

/**
 * Stops the server that a killed owner left running on these data files. Spares any other process that has reused its
 * id, and prevents that Postgres takes this process for a server.
 */
export async function stopOrphan(data: string): Promise<void> {
  const pidFile = await readPidFile(data);
  if (!pidFile) return;

  const found = await findProcess(pidFile.pid);
  if (found && (await isServerOf(data, pidFile.data, found))) return stopServer(found.pid, ended(found));
  await disownPidFile(data);
}

async function isServerOf(data: string, claimed: string, { command }: RunningProcess): Promise<boolean> {
  return command.includes(`postgres -D ${claimed}`) && (await realpath(claimed).catch(() => null)) === data;
}

async function ended(found: RunningProcess): Promise<void> {
  while (await isRunning(found)) await sleep(20);
}
