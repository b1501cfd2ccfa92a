import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * Time in milliseconds for which the main thread of a process has run, or has waited for a processor. Undefined when the
 * process has ended, and on systems without /proc/<pid>/schedstat.
 */
export async function runnableMsOf(pid: number): Promise<number | undefined> {
  const times = await schedulingOf(pid);
  return times && times.ranMs + times.waitedMs;
}

/** Processor time in milliseconds of one thread, by its id. Undefined as for `runnableMsOf`. */
export async function threadMsOf(threadId: number): Promise<number | undefined> {
  return (await schedulingOf(threadId))?.ranMs;
}

/** Processor time of the calling thread in milliseconds. Undefined on systems that do not tell it. */
export function ownThreadMs(): number | undefined {
  try {
    return schedulingIn(readFileSync('/proc/thread-self/schedstat', 'utf8')).ranMs;
  } catch {
    return undefined;
  }
}

async function schedulingOf(id: number): Promise<Scheduling | undefined> {
  try {
    return schedulingIn(await readFile(`/proc/${id}/schedstat`, 'utf8'));
  } catch {
    return undefined;
  }
}

interface Scheduling {
  ranMs: number;
  waitedMs: number;
}

function schedulingIn(schedstat: string): Scheduling {
  const [ranNs, waitedNs] = schedstat.split(' ').map(Number) as [number, number];
  return { ranMs: ranNs / 1e6, waitedMs: waitedNs / 1e6 };
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
