import { readdir, readFile, readlink } from 'node:fs/promises';

const sampleMs = 20;

/** Memory that the process has in use, in MB, as Linux tells it. */
export async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1000;
}

/** What the process has open below the folder. */
export async function openFiles(pid: number, folder: string): Promise<string[]> {
  const descriptors = await readdir(`/proc/${pid}/fd`);
  // One that is closed meanwhile leads nowhere.
  const paths = await Promise.all(descriptors.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
  return paths.filter((path) => path.startsWith(folder));
}

/** Looks at the memory of a process again and again, for what it grew by at most. */
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

  /** Ends the watch, and says by how many MB the process had grown when it was largest. */
  async stop(): Promise<number> {
    clearInterval(this.timer);
    await this.look();
    return Math.ceil(this.peakMb - this.startMb);
  }

  private async look(): Promise<void> {
    // A process that has ended is found out by whoever asks it something.
    this.peakMb = Math.max(this.peakMb, await residentMb(this.pid).catch(() => 0));
  }
}
