import { readdirSync, readFileSync } from 'node:fs';

const bytesPerMb = 1_000_000;
const sampleMs = 200;

/** Resident memory of a process, its threads included, in MB. NaN where it is not known, as on macOS. */
export function residentMb(pid: number): number {
  return readMb(`/proc/${pid}/status`, 'VmRSS');
}

/** Memory of Postgres: that of its processes, where what they share counts once. In MB; NaN where it is not known. */
export function postgresMb(pid: number): number {
  const proportionalMb = (member: number) => readMb(`/proc/${member}/smaps_rollup`, 'Pss');
  // A connection may have ended since it was listed.
  return childrenOf(pid).reduce((total, child) => total + (proportionalMb(child) || 0), proportionalMb(pid));
}

/** The highest of each figure while the work is done. */
export async function peaks(read: () => number[], work: () => Promise<unknown>): Promise<number[]> {
  let highest = read();
  const timer = setInterval(() => {
    highest = read().map((figure, i) => Math.max(figure, highest[i]!));
  }, sampleMs);
  await work().finally(() => clearInterval(timer));
  return highest;
}

function readMb(path: string, name: string): number {
  try {
    const [, kilobytes] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(path, 'utf8')) ?? [];
    return (Number(kilobytes ?? NaN) * 1024) / bytesPerMb;
  } catch {
    // Not Linux, or a process that has just ended.
    return NaN;
  }
}

function childrenOf(pid: number): number[] {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    return tasks.flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}
