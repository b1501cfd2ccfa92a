import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Process ids by layer. Child processes are included: Postgres has one per connection. */
export type Layers = Record<string, number[]>;

export interface CpuUse {
  /** CPU time in microseconds by layer, with this process as `generator`. Empty without /proc. */
  us: Record<string, number>;
  /** Part of the machine's busy time used by other processes: noise. */
  elsewhere: number;
}

/** CPU time is unknown without /proc, as on macOS. */
const isKnown = existsSync('/proc/self/stat');

/** Length of a clock tick in microseconds, usually 10,000. */
const tickUs = isKnown ? 1_000_000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) : NaN;

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

function machineUs(): number {
  const fields = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.split(/ +/).slice(1).map(Number);
  const [user, nice, system, , , irq, softIrq] = fields;
  return sum([user!, nice!, system!, irq!, softIrq!]) * tickUs;
}

interface Usage {
  parent: number;
  /** Includes terminated children. */
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
      // The process has ended since it was listed.
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
