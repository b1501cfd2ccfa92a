import { readFile } from 'node:fs/promises';

/**
 * Time in milliseconds for which the main thread of a process has run, or has waited for a processor. Undefined when the
 * process has ended, and on systems without /proc/<pid>/schedstat.
 */
export async function runnableMsOf(pid: number): Promise<number | undefined> {
  try {
    const [ranNs, waitedNs] = (await readFile(`/proc/${pid}/schedstat`, 'utf8')).split(' ');
    return (Number(ranNs) + Number(waitedNs)) / 1e6;
  } catch {
    return undefined;
  }
}

/** Fields of `/proc/<pid>/stat` from the third on. Undefined when the process has ended, and on systems without it. */
export async function statFieldsOf(pid: number): Promise<string[] | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, before them, is in parentheses and may contain blanks.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/**
 * Processor time that all threads of a process have used, in clock ticks of the system. Undefined when the process has
 * ended, and on systems without /proc/<pid>/stat.
 */
export async function processorTicksOf(pid: number): Promise<number | undefined> {
  const fields = await statFieldsOf(pid);
  // `utime` and `stime`.
  return fields && Number(fields[11]) + Number(fields[12]);
}
