import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

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

/** Processor time in milliseconds of one thread, by its id. Undefined as for `runnableMsOf`. */
export async function threadMsOf(threadId: number): Promise<number | undefined> {
  try {
    return Number((await readFile(`/proc/${threadId}/schedstat`, 'utf8')).split(' ')[0]) / 1e6;
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

const run = promisify(execFile);
/** Clock tick of Linux in /proc, the same on all of its architectures. */
const tickMs = 10;

/**
 * Processor time in milliseconds that all threads of a process have used, counted in ticks of 10 ms. Read from /proc on Linux,
 * from `ps` elsewhere. Undefined when the process has ended.
 */
export async function processorMsOf(pid: number): Promise<number | undefined> {
  if (process.platform !== 'linux') return processorMsByPs(pid);
  const fields = await statFieldsOf(pid);
  // `utime` and `stime`.
  return fields && (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** `ps` prints `[[days-]hours:]minutes:seconds`. */
async function processorMsByPs(pid: number): Promise<number | undefined> {
  try {
    const { stdout } = await run('ps', ['-o', 'time=', '-p', String(pid)]);
    const [seconds = 0, minutes = 0, hours = 0, days = 0] = stdout.trim().split(/[:-]/).reverse().map(Number);
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000;
  } catch {
    return undefined;
  }
}
