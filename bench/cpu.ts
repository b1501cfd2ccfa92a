import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Processes by the name of their layer. A layer's children count with it: Postgres serves each connection with one. */
export type Layers = Record<string, number[]>;

export const isCpuKnown = existsSync('/proc/self/stat');

/** Length of the kernel's unit for processor time, 10 ms nearly everywhere. */
const tickUs = isCpuKnown ? 1_000_000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) : NaN;

/** Processor time that each layer has used since it began, in microseconds, with this process as `generator`. */
export function cpuOf(layers: Layers): Record<string, number> {
  const { user, system } = process.cpuUsage();
  const used: Record<string, number> = { generator: user + system };
  if (!isCpuKnown) return used;
  const all = readProcesses();
  for (const [layer, pids] of Object.entries(layers)) used[layer] = sum(pids.map((pid) => familyUs(all, pid)));
  return used;
}

/** Microseconds between two readings, for each of `count` requests. */
export function cpuPerRequest(before: Record<string, number>, after: Record<string, number>, count: number) {
  return Object.fromEntries(Object.entries(after).map(([layer, us]) => [layer, (us - before[layer]!) / count]));
}

/** Processor time of the whole machine, whoever used it, in microseconds. */
export function machineCpuUs(): number {
  if (!isCpuKnown) return NaN;
  const [user, nice, system, , , irq, softIrq] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]!
    .split(/ +/)
    .slice(1)
    .map(Number);
  return sum([user!, nice!, system!, irq!, softIrq!]) * tickUs;
}

interface Usage {
  parent: number;
  /** Of the process and of those children that have ended. */
  us: number;
}

/** proc(5): fields 14 to 17 of stat are utime, stime, cutime, cstime. */
function readProcesses(): Map<number, Usage> {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const processes = new Map<number, Usage>();
  for (const pid of pids) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      processes.set(Number(pid), { parent: Number(fields[1]), us: sum(fields.slice(11, 15).map(Number)) * tickUs });
    } catch {
      // It has ended since it was listed.
    }
  }
  return processes;
}

function familyUs(all: Map<number, Usage>, pid: number): number {
  const children = [...all].filter(([, { parent }]) => parent === pid);
  return (all.get(pid)?.us ?? 0) + sum(children.map(([child]) => familyUs(all, child)));
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
