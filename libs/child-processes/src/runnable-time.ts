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
