import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

interface Layout {
  folder: string;
  limitFile: string;
  /** Absent when the kernel has no swap accounting. */
  swapFile?: string;
  peakFile: string;
  eventsFile: string;
}

const removalMs = 10_000;

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

/** Memory limit for processes and their children, as in a container. */
export class MemoryCgroup {
  private constructor(
    private readonly layout: Layout,
    private readonly path: string,
  ) {}

  /** Undefined without permission to create one. */
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
        // A group without a memory controller.
        await rmdir(path);
      }
    }
    return undefined;
  }

  async add(pid: number): Promise<void> {
    await writeFile(join(this.path, 'cgroup.procs'), String(pid));
  }

  /** Peak usage including the file cache: near the limit it says little. */
  async peakBytes(): Promise<number> {
    return Number(await this.read(this.layout.peakFile));
  }

  async kernelKills(): Promise<number> {
    return Number(/^oom_kill (\d+)$/m.exec(await this.read(this.layout.eventsFile))?.[1] ?? 0);
  }

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
