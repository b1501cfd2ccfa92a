import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Resident memory of a process in bytes; 0 when it has ended. Read from /proc on Linux, from `ps` elsewhere. */
export async function residentBytesOf(pid: number): Promise<number> {
  try {
    if (process.platform !== 'linux') return Number((await run('ps', ['-o', 'rss=', '-p', String(pid)])).stdout) * 1024;
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kilobytes ?? 0) * 1024;
  } catch (error) {
    const { code } = error as { code?: string | number };
    // Exit code 1 of `ps`: no such process.
    if (code === 'ENOENT' || code === 'ESRCH' || code === 1) return 0;
    throw error;
  }
}
