import { type ChildProcess, execFile, spawn, type StdioOptions } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { findProgram } from './find-program';
import { residentBytesOf } from './resident-memory';
import { processorMsOf, runnableMsOf } from './runnable-time';

export interface ProcessLimits {
  program: string;
  /** Limit of V8's old generation, in MiB. */
  heapMb: number;
  /** Limit of resident memory in MiB: heap, native buffers and the program itself. */
  residentMb: number;
  /** Complete environment of the child: it inherits nothing. */
  env?: Record<string, string>;
  /** Further options of Node. */
  nodeOptions?: string[];
  /** Command that starts Node in its place, such as `setpriv …`. */
  wrapper?: string[];
  /** File descriptor, a pipe, to which the wrapper writes the process id of Node as `bwrap --info-fd` does, if it stays its parent. */
  pidDescriptor?: number;
  cwd?: string;
  /** Limit of open files, sockets included. */
  openFiles?: number;
  /** Limit of one written file, in MiB. */
  fileMb?: number;
  /** Main thread and worker threads: for each, V8 reserves private memory. */
  threads?: number;
  /** Added to the niceness of this process, which answers requests. Below normal if it is not given. */
  niceness?: number;
}

/** Cause of an unexpected end: `memory` for any of the memory limits, otherwise `crash`. */
export type ChildEnd = { cause: 'memory' } | { cause: 'crash'; detail: string };

/** Thread stacks and other private memory, in MiB, that the kernel counts before it is resident. */
const kernelLimitMarginMb = 128;
/** Time in which the output of an ended process is read. A process that it has left behind may keep the pipes open. */
const outputMs = 1_000;
/** Characters kept of the error output: enough for the first line of a fatal V8 error. */
const mostErrorCharacters = 4_000;
const blocksPerMb = 2_048;

/**
 * Shell prefix that sets limits which Node cannot set, then executes the program: no core dumps, limits of private memory
 * (`ulimit -d`), open files and written files, first choice of the kernel's OOM killer, and a lower priority. On a system that
 * lacks one of them, it is skipped. A priority that is set from outside comes too late for what a wrapper has forked by then.
 */
const launcher = [
  'ulimit -c 0',
  '[ "$1" = 0 ] || ulimit -d "$1" 2>/dev/null',
  '[ "$2" = 0 ] || ulimit -n "$2" 2>/dev/null',
  '[ "$3" = 0 ] || ulimit -f "$3" 2>/dev/null',
  'echo 1000 2>/dev/null >/proc/self/oom_score_adj',
  'niceness=$4; shift 4',
  'command -v nice >/dev/null && exec nice -n "$niceness" "$@"',
  'exec "$@"',
].join('; ');

const perl = findProgram('perl');

/** Whether each child has a process group of its own: otherwise a signal to its group reaches this process too. */
export const hasOwnGroups = perl !== undefined;

/**
 * Command that gives the program which it executes a process group of its own. It keeps the session, which `detached` of Node
 * does not (docs/decisions/0088-isolation-of-code.md).
 */
const inOwnGroup = perl ? [perl, '-e', 'setpgrp 0, 0; exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\n"'] : [];

/**
 * Private memory in kB, resident or not, that the kernel counts for an idle process of this Node: some 560 MB since Node 24.
 * Measured on this process at its start. 0 where it is not known.
 */
const idleDataKb = ownDataKb();

/** Groups of ended processes in which a process may be left. */
const endedGroups = new Set<number>();

/** Number of ended processes that have left a process behind: one that even SIGKILL to its group has not ended so far. */
export function orphanedGroups(): number {
  for (const group of endedGroups) if (!signalGroup(group, 0)) endedGroups.delete(group);
  return endedGroups.size;
}

/** Child process that runs one Node program with limits, in a process group of its own, and at a lower priority than this process. */
export class LimitedProcess {
  protected readonly process: ChildProcess;
  private nodePid?: number;
  /** Resolves when `pid` is known, or will never be. */
  protected readonly pidRead: Promise<void> = Promise.resolve();
  private readonly limitBytes: number;
  private timer?: NodeJS.Timeout;
  private errorOutput = '';
  private isOverLimit = false;
  private hasEnded = false;
  /** Resolves when the process has ended. Never rejects. */
  readonly ended: Promise<ChildEnd>;

  /** @param stdio the third one, standard error, is a pipe */
  constructor(
    {
      program,
      heapMb,
      residentMb,
      env = {},
      nodeOptions = [],
      wrapper = [],
      pidDescriptor,
      cwd,
      openFiles = 0,
      fileMb = 0,
      threads = 1,
      niceness = constants.priority.PRIORITY_BELOW_NORMAL,
    }: ProcessLimits,
    stdio: StdioOptions,
  ) {
    this.limitBytes = residentMb * 2 ** 20;
    // Stops an allocation that is faster than the checks of resident memory.
    const kernelLimitKb = idleDataKb && threads * idleDataKb + (residentMb + kernelLimitMarginMb) * 1024;
    const limits = [kernelLimitKb, openFiles, fileMb * blocksPerMb, niceness].map(String);
    // Frozen: a change of V8's flags at run time can turn off its checks of bounds.
    const flags = [`--max-old-space-size=${heapMb}`, '--freeze-flags-after-init'];
    const node = [process.execPath, ...flags, ...nodeOptions, program];
    this.process = spawn('/bin/sh', ['-c', launcher, 'sh', ...limits, ...inOwnGroup, ...wrapper, ...node], {
      env,
      stdio,
      cwd,
      serialization: 'advanced',
    });
    this.process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.errorOutput = (this.errorOutput + text).slice(0, mostErrorCharacters);
    });
    if (pidDescriptor === undefined) this.nodePid = this.process.pid;
    else this.pidRead = this.readPid(this.process.stdio[pidDescriptor] as Readable);
    this.ended = new Promise((resolve) => {
      const end = (detail: string) => {
        this.hasEnded = true;
        this.stopMemoryCheck();
        resolve(this.isOverLimit || isOutOfMemory(this.errorOutput) ? { cause: 'memory' } : { cause: 'crash', detail });
      };
      this.process.once('error', (error) => end(error.message));
      this.process.once('exit', (code, signal) => {
        this.killRest();
        // `close` comes after the output has been read, but not while a process that was left behind holds a pipe.
        const giveUp = () => {
          if (this.hasEnded) return;
          this.closePipes();
          end(describeEnd(code, signal, this.errorOutput));
        };
        // However late this loop is, it first reads the data that have arrived.
        const timer = setTimeout(() => setImmediate(giveUp), outputMs);
        this.process.once('close', () => clearTimeout(timer));
      });
      this.process.once('close', (code, signal) => end(describeEnd(code, signal, this.errorOutput)));
    });
  }

  get isAlive(): boolean {
    return !this.hasEnded && this.process.exitCode === null && this.process.signalCode === null;
  }

  /** Process group of Node and its wrapper. Undefined if the process could not be started. */
  get groupId(): number | undefined {
    return this.process.pid;
  }

  /** Process id of Node. Undefined until the wrapper has written it. */
  get pid(): number | undefined {
    return this.nodePid;
  }

  /** Resident memory in bytes; 0 when the process has ended. */
  residentBytes(): Promise<number> {
    return this.nodePid && this.isAlive ? residentBytesOf(this.nodePid) : Promise.resolve(0);
  }

  /** Processor time of all threads in milliseconds; 0 until the process id is known, undefined when the process has ended. */
  async processorMs(): Promise<number | undefined> {
    if (!this.isAlive) return undefined;
    return this.nodePid === undefined ? 0 : processorMsOf(this.nodePid);
  }

  /** Time in milliseconds in which the main thread has run or waited for a processor. Undefined where that is not known. */
  async runnableMs(): Promise<number | undefined> {
    return this.nodePid === undefined ? undefined : runnableMsOf(this.nodePid);
  }

  /**
   * Gives all threads the lowest priority for good: only privileged processes could raise it. With `chrt` of util-linux, they run
   * only while no other thread of their session needs the processor (`SCHED_IDLE`).
   */
  protected yieldProcessor(): void {
    const pid = this.nodePid;
    if (pid === undefined) return;
    for (const id of threadsOf(pid)) {
      try {
        setPriority(id, constants.priority.PRIORITY_LOW);
      } catch {
        // The thread has ended, or has a user id that this process has no rights over.
      }
    }
    // Fails where the system has no `chrt`, and for the same reasons as above: the priority remains.
    execFile('chrt', ['--idle', '--all-tasks', '--pid', '0', String(pid)], () => undefined);
  }

  /** Kills the process with those that its wrapper has started. */
  kill(): void {
    if (!this.isAlive) return;
    // Before the process has its group, it has no children.
    if (this.groupId !== undefined) signalGroup(this.groupId, 'SIGKILL');
    this.process.kill('SIGKILL');
  }

  /** A wrapper that is killed before it has armed the end of its child leaves it behind, with the pipes open. */
  private killRest(): void {
    // Forgets those that are empty by now, whose numbers the system gives to other groups.
    orphanedGroups();
    if (signalGroup(this.groupId!, 'SIGKILL')) endedGroups.add(this.groupId!);
  }

  private closePipes(): void {
    for (const stream of this.process.stdio) stream?.destroy();
    if (this.process.connected) this.process.disconnect();
  }

  private async readPid(readable: Readable): Promise<void> {
    // A wrapper that fails writes nothing; `ended` has the cause.
    const written = await text(readable).catch(() => '');
    const pid = /"child-pid": (\d+)/.exec(written)?.[1];
    if (pid) this.nodePid = Number(pid);
  }

  protected startMemoryCheck(intervalMs: number): void {
    this.stopMemoryCheck();
    this.timer = setInterval(() => void this.checkMemory(), intervalMs).unref();
  }

  protected stopMemoryCheck(): void {
    clearInterval(this.timer);
  }

  private async checkMemory(): Promise<void> {
    if ((await this.residentBytes()) <= this.limitBytes) return;
    this.isOverLimit = true;
    this.kill();
  }
}

/** Signals all processes of a group. False if there is none. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    // EPERM: a process of another user, which is not ours.
    if (['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code!)) return false;
    throw error;
  }
}

function ownDataKb(): number {
  if (process.platform !== 'linux') return 0;
  return Number(/^VmData:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0);
}

function describeEnd(code: number | null, signal: NodeJS.Signals | null, errorOutput: string): string {
  if (signal === 'SIGTRAP')
    return `SIGTRAP: V8 ended the process, for lack of memory or for a change of its flags: ${errorOutput}`;
  return signal ?? `exit code ${code}: ${errorOutput}`;
}

/** Linux has a priority for each thread, other systems for the process. */
function threadsOf(pid: number): number[] {
  if (process.platform !== 'linux') return [pid];
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    // The process has ended.
    return [];
  }
}

function isOutOfMemory(errorOutput: string): boolean {
  return /out of memory|Array buffer allocation failed|std::bad_alloc/i.test(errorOutput);
}
