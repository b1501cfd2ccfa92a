import { readdir, readFile, readlink } from 'node:fs/promises';

const sampleMs = 20;

/** Resident memory of the process in MB, from /proc. */
export async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1000;
}

export async function openFiles(pid: number, folder: string): Promise<string[]> {
  const descriptors = await readdir(`/proc/${pid}/fd`);
  // A descriptor closed meanwhile has no target.
  const paths = await Promise.all(descriptors.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
  return paths.filter((path) => path.startsWith(folder));
}

/** Samples the memory of a process, for its largest growth. */
export class MemoryWatch {
  private peakMb: number;
  private readonly timer: NodeJS.Timeout;

  private constructor(
    private readonly pid: number,
    private readonly startMb: number,
  ) {
    this.peakMb = startMb;
    this.timer = setInterval(() => void this.look(), sampleMs);
  }

  static async start(pid: number): Promise<MemoryWatch> {
    return new MemoryWatch(pid, await residentMb(pid));
  }

  /** Ends the watch. Returns the largest growth in MB. */
  async stop(): Promise<number> {
    clearInterval(this.timer);
    await this.look();
    return Math.ceil(this.peakMb - this.startMb);
  }

  private async look(): Promise<void> {
    // Other checks detect a process that has ended.
    this.peakMb = Math.max(this.peakMb, await residentMb(this.pid).catch(() => 0));
  }
}
