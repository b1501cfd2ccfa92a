import { readFile } from 'node:fs/promises';

export interface ThreadTime {
  /** Time in milliseconds for which the main thread has run. */
  ranMs: number;
  /** Time in milliseconds for which it has waited for a processor. */
  waitedMs: number;
}

/** Undefined when the process has ended, and on systems without /proc/<pid>/schedstat. */
export async function mainThreadTimeOf(pid: number): Promise<ThreadTime | undefined> {
  try {
    const [ranNs, waitedNs] = (await readFile(`/proc/${pid}/schedstat`, 'utf8')).split(' ');
    return { ranMs: Number(ranNs) / 1e6, waitedMs: Number(waitedNs) / 1e6 };
  } catch {
    return undefined;
  }
}

/**
 * Processor time that all threads of a process have used, in clock ticks of the system. Undefined when the process has
 * ended, and on systems without /proc/<pid>/stat.
 */
export async function processorTicksOf(pid: number): Promise<number | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program may contain blanks. After it, utime and stime are the fields 12 and 13.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return undefined;
  }
}
