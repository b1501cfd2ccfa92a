import { type ChildProcess, spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import type { Duplex } from 'node:stream';
import { residentBytesOf } from './resident-memory';

export interface ChildOptions {
  program: string;
  /** Limit of V8's old generation, in MiB. */
  heapMb: number;
  /** Limit of resident memory in MiB: heap, native buffers and the program itself. */
  residentMb: number;
  /** Complete environment of the child: it inherits nothing. */
  env?: Record<string, string>;
}

/** Cause of an unexpected end: `memory` for any of the memory limits, otherwise `crash`. */
export type ChildEnd = { cause: 'memory' } | { cause: 'crash'; detail: string };

const memoryCheckMs = 50;
/**
 * Margin in MiB of the kernel's limit above ours: it counts thread stacks, resident or not. The kernel's limit stops an
 * allocation that is faster than the checks.
 */
const kernelLimitMarginMb = 192;
/** Characters kept of the error output: enough for the first line of a fatal V8 error. */
const mostErrorCharacters = 4_000;
export const dataDescriptor = 4;

/**
 * Shell prefix that sets limits which Node cannot set, then executes the program: no core dumps, a limit of private
 * memory (`ulimit -d`), and first choice of the kernel's OOM killer. On a system that lacks one of them, it is skipped.
 */
const launcher = [
  'ulimit -c 0',
  'ulimit -d "$1" 2>/dev/null',
  'echo 1000 2>/dev/null >/proc/self/oom_score_adj',
  'shift',
  'exec "$@"',
].join('; ');

/**
 * Child process that runs one Node program with limits of heap and resident memory. It exchanges messages (structured
 * clone) and receives bytes over a separate channel. It ends with this process, even when that is killed.
 */
export class SupervisedChild<Order = unknown, Answer = unknown> {
  private readonly process: ChildProcess;
  private readonly limitBytes: number;
  private timer?: NodeJS.Timeout;
  private errorOutput = '';
  private isOverLimit = false;
  private hasEnded = false;
  /** Resolves when the process has ended. Never rejects. */
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
    // Writing to an ended child fails; `ended` has the cause.
    this.data.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      const end = (detail: string) => {
        this.hasEnded = true;
        this.unwatch();
        resolve(this.isOverLimit || isOutOfMemory(this.errorOutput) ? { cause: 'memory' } : { cause: 'crash', detail });
      };
      this.process.once('error', (error) => end(error.message));
      // Unlike `exit`, `close` comes after the output has been read.
      this.process.once('close', (code, signal) => end(signal ?? `exit code ${code}: ${this.errorOutput}`));
    });
    // Lower priority than the parent, which answers requests.
    if (this.process.pid) setPriority(this.process.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  }

  get isAlive(): boolean {
    return !this.hasEnded && this.process.exitCode === null && this.process.signalCode === null;
  }

  get pid(): number | undefined {
    return this.process.pid;
  }

  /** Data channel to the child, which reads it with ChildData. */
  get data(): Duplex {
    return this.process.stdio[dataDescriptor] as Duplex;
  }

  /** Resident memory in bytes; 0 when the process has ended. */
  residentBytes(): Promise<number> {
    return this.process.pid && this.isAlive ? residentBytesOf(this.process.pid) : Promise.resolve(0);
  }

  /** Sets the message listener, replacing the previous one, and starts the memory check. */
  watch(onAnswer: (answer: Answer) => void): void {
    this.unwatch();
    this.process.on('message', onAnswer);
    this.timer = setInterval(() => void this.checkMemory(), memoryCheckMs);
  }

  unwatch(): void {
    clearInterval(this.timer);
    this.process.removeAllListeners('message');
  }

  /** A message to an ended child is dropped; see `ended`. */
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
