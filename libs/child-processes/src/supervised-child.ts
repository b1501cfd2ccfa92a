import { type ChildProcess, spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import type { Duplex } from 'node:stream';
import { residentBytesOf } from './resident-memory';

export interface ChildOptions {
  /** Path of the compiled program. */
  program: string;
  /** Limit of V8's old generation, in MiB. */
  heapMb: number;
  /** Limit of resident memory, in MiB: heap, native buffers and the program itself. */
  residentMb: number;
  /** The whole environment of the child: nothing is inherited. */
  env?: Record<string, string>;
}

/** Why a child ended that was not told to: `memory` for each of its limits, `crash` for anything else. */
export type ChildEnd = { cause: 'memory' } | { cause: 'crash'; detail: string };

/** How often resident memory is compared with its limit while a child works. */
const memoryCheckMs = 50;
/**
 * The kernel's own limit lies above ours by this many MiB: stacks of threads count for it, resident or not. It stops an
 * allocation that is faster than the checks.
 */
const kernelLimitMarginMb = 192;
/** Kept of a child's error output: enough for the first line of a fatal error of V8. */
const mostErrorCharacters = 4_000;
/** Index of the child's data channel among its file descriptors. */
export const dataDescriptor = 4;

/**
 * Sets limits that Node has no call for, and becomes the program: no core dump, a limit of private memory, and the first
 * place among those that the kernel ends when memory runs out. A system that lacks one goes without it.
 */
const launcher = [
  'ulimit -c 0',
  'ulimit -d "$1" 2>/dev/null',
  'echo 1000 2>/dev/null >/proc/self/oom_score_adj',
  'shift',
  'exec "$@"',
].join('; ');

/**
 * A Node process that runs one program, bounded in heap and resident memory. It talks by messages (structured clones),
 * and takes streams of bytes by a channel of its own. It ends when this process does, however that ends.
 */
export class SupervisedChild<Order = unknown, Answer = unknown> {
  private readonly process: ChildProcess;
  private readonly limitBytes: number;
  private timer?: NodeJS.Timeout;
  private errorOutput = '';
  private isOverLimit = false;
  private hasEnded = false;
  /** Resolves when the process is gone. Never rejects. */
  readonly ended: Promise<ChildEnd>;

  constructor({ program, heapMb, residentMb, env = {} }: ChildOptions) {
    this.limitBytes = residentMb * 2 ** 20;
    const kernelLimitKb = (residentMb + kernelLimitMarginMb) * 1024;
    this.process = spawn(
      '/bin/sh',
      ['-c', launcher, 'sh', String(kernelLimitKb), process.execPath, `--max-old-space-size=${heapMb}`, program],
      { env, stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe'], serialization: 'advanced' },
    );
    this.process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.errorOutput = (this.errorOutput + text).slice(0, mostErrorCharacters);
    });
    // A write to a child that has just ended fails; `ended` says why it did.
    this.data.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      const end = (detail: string) => {
        this.hasEnded = true;
        this.unwatch();
        resolve(this.isOverLimit || isOutOfMemory(this.errorOutput) ? { cause: 'memory' } : { cause: 'crash', detail });
      };
      this.process.once('error', (error) => end(error.message));
      // After its output has been read, unlike `exit`.
      this.process.once('close', (code, signal) => end(signal ?? `exit code ${code}: ${this.errorOutput}`));
    });
    // The work of a child waits rather than the requests that its parent answers.
    if (this.process.pid) setPriority(this.process.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  }

  get isAlive(): boolean {
    return !this.hasEnded && this.process.exitCode === null && this.process.signalCode === null;
  }

  get pid(): number | undefined {
    return this.process.pid;
  }

  /** Bytes that are written here are read by `childData` in the child. */
  get data(): Duplex {
    return this.process.stdio[dataDescriptor] as Duplex;
  }

  /** Resident memory in bytes; 0 for a process that is gone. */
  residentBytes(): Promise<number> {
    return this.process.pid && this.isAlive ? residentBytesOf(this.process.pid) : Promise.resolve(0);
  }

  /** Listens to its answers, in place of whoever did before, and compares its memory with the limit from now on. */
  watch(onAnswer: (answer: Answer) => void): void {
    this.unwatch();
    this.process.on('message', onAnswer);
    this.timer = setInterval(() => void this.checkMemory(), memoryCheckMs);
  }

  unwatch(): void {
    clearInterval(this.timer);
    this.process.removeAllListeners('message');
  }

  /** A message to a child that is gone is dropped: `ended` says that it is. */
  send(order: Order): void {
    if (this.process.connected) this.process.send(order as object, () => undefined);
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }

  private async checkMemory(): Promise<void> {
    if ((await this.residentBytes()) <= this.limitBytes) return;
    this.isOverLimit = true;
    this.kill();
  }
}

function isOutOfMemory(errorOutput: string): boolean {
  return /out of memory|Array buffer allocation failed|std::bad_alloc/i.test(errorOutput);
}
