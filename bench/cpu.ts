import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Processes by the name of their layer. A layer's children count with it: Postgres serves each connection with one. */
export type Layers = Record<string, number[]>;

export interface CpuUse {
  /** Processor time of each layer and of this process, as `generator`, in microseconds. Empty where it is not known. */
  us: Record<string, number>;
  /** Part of the machine's busy time that none of them has used: the noise of neighbours. */
  elsewhere: number;
}

/** Where there is no /proc, as on macOS, processor time is not known. */
const isKnown = existsSync('/proc/self/stat');

/** The kernel counts processor time in units of this length, 10 ms nearly everywhere. */
const tickUs = isKnown ? 1_000_000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) : NaN;

/** The processor time that is used while the work is done. */
export async function measureCpu<T>(layers: Layers, work: () => Promise<T>): Promise<[T, CpuUse]> {
  if (!isKnown) return [await work(), { us: {}, elsewhere: NaN }];
  const [before, machineBefore] = [usedBy(layers), machineUs()];
  const result = await work();
  const [after, machineAfter] = [usedBy(layers), machineUs()];
  const us = Object.fromEntries(Object.entries(after).map(([layer, used]) => [layer, used - before[layer]!]));
  return [result, { us, elsewhere: Math.max(0, 1 - sum(Object.values(us)) / (machineAfter - machineBefore)) }];
}

function usedBy(layers: Layers): Record<string, number> {
  const { user, system } = process.cpuUsage();
  const all = readProcesses();
  const used = Object.entries(layers).map(([layer, pids]) => [layer, sum(pids.map((pid) => familyUs(all, pid)))]);
  return { generator: user + system, ...(Object.fromEntries(used) as Record<string, number>) };
}

/** Of the whole machine, whoever used it. */
function machineUs(): number {
  const fields = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.split(/ +/).slice(1).map(Number);
  const [user, nice, system, , , irq, softIrq] = fields;
  return sum([user!, nice!, system!, irq!, softIrq!]) * tickUs;
}

interface Usage {
  parent: number;
  /** Of the process and of those children that have ended. */
  us: number;
}

/** proc(5): fields 14 to 17 of stat are utime, stime, cutime, cstime. */
function readProcesses(): Map<number, Usage> {
  const processes = new Map<number, Usage>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
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
