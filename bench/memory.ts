import { readdirSync, readFileSync } from 'node:fs';

const bytesPerMb = 1_000_000;
const sampleMs = 200;

/** Resident memory (VmRSS) of a process in MB; NaN without /proc. */
export function residentMb(pid: number): number {
  return readMb(`/proc/${pid}/status`, 'VmRSS');
}

/** Memory of a process in MB, with its share of shared memory (Pss); NaN without /proc. */
export function shareMb(pid: number): number {
  return readMb(`/proc/${pid}/smaps_rollup`, 'Pss');
}

/** Memory of all Postgres processes in MB, with shared memory counted once; NaN without /proc. */
export function postgresMb(pid: number): number {
  // A connection's process may have ended since it was listed.
  return childrenOf(pid).reduce((total, child) => total + (shareMb(child) || 0), shareMb(pid));
}

/** Process ids of children and their children. Empty without /proc. */
export function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

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
    // No /proc, or the process has just ended.
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
