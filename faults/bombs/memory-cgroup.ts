import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

interface Layout {
  folder: string;
  limitFile: string;
  /** Absent where the kernel keeps no swap account. */
  swapFile?: string;
  peakFile: string;
  eventsFile: string;
}

const removalMs = 10_000;

/** Control groups of version 1 and of version 2, where this process may make one. */
const layouts: Layout[] = [
  {
    folder: '/sys/fs/cgroup/memory',
    limitFile: 'memory.limit_in_bytes',
    peakFile: 'memory.max_usage_in_bytes',
    eventsFile: 'memory.oom_control',
  },
  {
    folder: '/sys/fs/cgroup',
    limitFile: 'memory.max',
    swapFile: 'memory.swap.max',
    peakFile: 'memory.peak',
    eventsFile: 'memory.events',
  },
];

/** A limit of memory for processes and what they start, as a container has it. */
export class MemoryCgroup {
  private constructor(
    private readonly layout: Layout,
    private readonly path: string,
  ) {}

  /** Undefined where this process may not make one. */
  static async create(limitBytes: number): Promise<MemoryCgroup | undefined> {
    for (const layout of layouts) {
      const path = join(layout.folder, `parley-bombs-${randomBytes(6).toString('hex')}`);
      try {
        await mkdir(path);
      } catch {
        continue;
      }
      const cgroup = new MemoryCgroup(layout, path);
      try {
        await writeFile(join(path, layout.limitFile), String(limitBytes));
        if (layout.swapFile) await writeFile(join(path, layout.swapFile), '0').catch(ignoreMissing);
        return cgroup;
      } catch {
        // A group without a controller of memory.
        await rmdir(path);
      }
    }
    return undefined;
  }

  /** The process, and from now on what it starts. */
  async add(pid: number): Promise<void> {
    await writeFile(join(this.path, 'cgroup.procs'), String(pid));
  }

  /** Most bytes at any time, the file cache included: near the limit it says little. */
  async peakBytes(): Promise<number> {
    return Number(await this.read(this.layout.peakFile));
  }

  /** How often the kernel ended a process for want of memory. */
  async kernelKills(): Promise<number> {
    return Number(/^oom_kill (\d+)$/m.exec(await this.read(this.layout.eventsFile))?.[1] ?? 0);
  }

  /** Call when its processes have ended. */
  async remove(): Promise<void> {
    const deadline = Date.now() + removalMs;
    for (;;) {
      try {
        return await rmdir(this.path);
      } catch (error) {
        if ((error as { code?: string }).code !== 'EBUSY' || Date.now() > deadline) throw error;
        await sleep(50);
      }
    }
  }

  private read(file: string): Promise<string> {
    return readFile(join(this.path, file), 'utf8');
  }
}

function ignoreMissing(error: unknown): void {
  if ((error as { code?: string }).code !== 'ENOENT') throw error;
}
