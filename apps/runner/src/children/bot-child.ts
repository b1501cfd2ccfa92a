import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { LimitedProcess, type ProcessLimits } from '@parley/child-processes/limited-process';
import { isRecord } from '@parley/contracts/is-record';
import { type RunnerFailure, maxCodeBodyBytes } from '@parley/contracts/runner/runner';
import {
  encodeFrame,
  type InvokeFrame,
  type LoadFrame,
  type Order,
  orderDescriptor,
  replyDescriptor,
} from '../host/frames';
import type { CodeOutput } from '../logs/code-output';
import { type Frame, FrameReader, FrameRefused } from './frame-reader';
import { LoadLimits, loadProblems } from './load-limits';
import { ReadingPace, sliceMs } from './reading-pace';
import { exceededLimit, type TemporaryFolder } from './temporary-folder';

/** Characters of an error: the code chooses its text, which may have megabytes. */
const maxMessageLength = 4_000;
/** Bytes of any message but the answer of a call that is under way. */
const maxMessageBytes = 64_000;
const maxHeaders = 100;
const memoryCheckMs = 250;
const folderCheckMs = 250;
/** Part of the time that checks of one folder may take. */
const folderCheckShare = 0.1;
/** Code that computes for this share of the time, at so many checks in a row, leaves the processor to other code. */
const busy = { share: 0.9, checks: 3, checkMs: 1_000 };
/** Time in which a process that is not blocked answers. */
const pongMs = 1_000;

export interface CodeResponse {
  status: number;
  body: string;
  /** Names in lower case. */
  headers?: Record<string, string>;
}

export class CodeFailed extends Error {
  override readonly name = 'CodeFailed';

  constructor(
    readonly failure: RunnerFailure,
    message: string,
  ) {
    super(message.slice(0, maxMessageLength));
  }
}

/** The code was not called: its processes keep ending, so the next one starts after a pause. */
export class CodePaused extends CodeFailed {
  constructor(
    message: string,
    readonly leftMs: number,
  ) {
    super('paused', message);
  }
}

/** The code exceeded a limit of its load, by its own fault. */
export class LoadHung extends CodeFailed {
  constructor(message: string) {
    super('not loadable', message);
  }
}

/** The process ended before it began the call, because another one blocked it: the call can be repeated safely. */
export class CallNotBegun extends CodeFailed {}

type Call = Omit<InvokeFrame, 'type' | 'id' | 'isConfirmed' | 'request'> & {
  request: InvokeFrame['request'] & { body: string };
};

interface Waiting {
  resolve: (response: CodeResponse) => void;
  reject: (error: CodeFailed) => void;
  timer: NodeJS.Timeout;
  hasBegun: boolean;
}

/**
 * Process of one bundle. It may be hostile: messages from it are bounded and checked, and it answers only for its own
 * invocations.
 */
export class BotChild extends LimitedProcess {
  private readonly waiting = new Map<string, Waiting>();
  private readonly orders: Writable;
  private readonly frames = new FrameReader((header) => this.maxBodyBytes(header));
  private readonly pace: ReadingPace;
  private onLoaded?: (error?: CodeFailed) => void;
  /** Whether Node has started, so that only the code can end the process. */
  private hasStarted = false;
  private pongTimer?: NodeJS.Timeout;
  private silenceTimer?: NodeJS.Timeout;
  private lastWords?: string;
  private folderTimer?: NodeJS.Timeout;
  private processorTimer?: NodeJS.Timeout;
  /** True after a time-out: it takes no more invocations, and ends after those that run. */
  isTainted = false;
  /** Why the process ended, as far as it is known. */
  endReason = new CodeFailed('crashed', 'The process of the code ended.');
  lastUsedAt = performance.now();

  constructor(
    limits: ProcessLimits,
    private readonly onOutput: (output: CodeOutput) => void,
  ) {
    super(limits, ['ignore', ...Array<'pipe'>(limits.pidDescriptor ?? replyDescriptor).fill('pipe')]);
    const [, stdout, stderr] = this.process.stdio;
    this.orders = this.process.stdio[orderDescriptor] as Writable;
    const replies = this.process.stdio[replyDescriptor] as Readable;
    // Writing to an ended process fails; `ended` has the cause.
    this.orders.on('error', () => undefined);
    for (const pipe of [this.orders, replies]) pipe.on('close', () => this.endSilent());
    this.pace = new ReadingPace([replies, stdout as Readable, stderr as Readable], () => this.readFrames());
    replies.on('data', (bytes: Buffer) => {
      this.frames.push(bytes);
      if (!this.pace.isPaused) this.readFrames();
    });
    replies.on('error', () => this.kill());
    this.readRaw(stdout as Readable, 'stdout');
    this.readRaw(stderr as Readable, 'stderr');
    this.startMemoryCheck(memoryCheckMs);
    void this.ended.then((end) => {
      const { cause } = end;
      this.pace.close();
      for (const timer of [this.folderTimer, this.processorTimer, this.silenceTimer]) clearTimeout(timer);
      const error = cause === 'memory' ? outOfMemory() : this.hasStarted ? this.crash() : notStarted(end.detail);
      if (cause === 'memory') this.onOutput({ stream: 'stderr', text: `${error.message}\n` });
      if (!this.isTainted) this.endReason = error;
      this.rejectAll(error);
    });
  }

  get underWay(): number {
    return this.waiting.size;
  }

  /** Throws CodeFailed if the bundle cannot be loaded: `not started` if that is no fault of the bundle. */
  async load({ code, ...frame }: Omit<LoadFrame, 'type'> & { code: string }): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const end = (error?: CodeFailed) => {
        limits.end();
        this.onLoaded = undefined;
        if (error) reject(error);
        else resolve();
      };
      const limits = new LoadLimits(this, (limit) => {
        const problem = loadProblems[limit];
        end(limit === 'clock' ? new CodeFailed('not started', problem) : new LoadHung(problem));
        this.kill();
      });
      this.onLoaded = end;
      this.send({ type: 'load', ...frame }, code);
    });
    await this.pidRead;
    void this.watchProcessor();
  }

  /**
   * Calls the handler. Throws CodeFailed, CallNotBegun in particular.
   * @param onStart gets the id of the invocation, which names its output
   */
  invoke({ request: { body, ...request }, ...frame }: Call, onStart: (id: string) => void): Promise<CodeResponse> {
    const id = randomUUID();
    onStart(id);
    this.lastUsedAt = performance.now();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.timeOut(id, frame.timeoutMs), frame.timeoutMs);
      const isConfirmed = this.underWay > 0;
      this.waiting.set(id, { resolve, reject, timer, hasBegun: this.isAlive && !isConfirmed });
      if (!this.isAlive) return this.rejectAll(this.crash());
      this.send({ type: 'invoke', id, isConfirmed, request, ...frame }, body);
    });
  }

  /**
   * Ends the process when its folder exceeds a limit. While the processor time of the process stays the same, the folder is
   * looked at once more and then not again: what it writes in less than a clock tick (10 ms) is seen with the next tick.
   */
  watchFolder(folder: TemporaryFolder): void {
    const check = async (former?: number, wasAtRest = false) => {
      const startedAt = performance.now();
      const usedMs = await this.processorMs();
      const isAtRest = usedMs !== undefined && usedMs === former;
      const problem = this.pid && !(isAtRest && wasAtRest) && (await folderProblem(folder, this.pid));
      if (!this.isAlive) return;
      if (problem) return this.endWith(problem);
      const pauseMs = Math.max(folderCheckMs, (performance.now() - startedAt) / folderCheckShare);
      this.folderTimer = setTimeout(() => void check(usedMs, isAtRest), pauseMs).unref();
    };
    void check();
  }

  /** Other code goes first once this code computes all the time: an endless loop, for example. */
  private async watchProcessor(busyChecks = 0, formerMs = Infinity, formerTime = 0): Promise<void> {
    const runnableMs = await this.runnableMs();
    if (!this.isAlive || runnableMs === undefined) return;
    const now = performance.now();
    const isBusy = runnableMs - formerMs > busy.share * (now - formerTime);
    const checks = isBusy ? busyChecks + 1 : 0;
    if (checks === busy.checks) return this.yieldProcessor();
    this.processorTimer = setTimeout(() => void this.watchProcessor(checks, runnableMs, now), busy.checkMs).unref();
  }

  private endWith(problem: string): void {
    this.lastWords = problem;
    this.onOutput({ stream: 'stderr', text: `${problem}\n` });
    this.kill();
  }

  private timeOut(id: string, timeoutMs: number): void {
    this.isTainted = true;
    const error = new CodeFailed('timed out', `The code did not answer within ${timeoutMs / 1_000} s.`);
    this.endReason = error;
    this.settle(id)?.reject(error);
    if (this.underWay === 0) this.kill();
    else this.killIfBlocked();
  }

  /** A blocked event loop would hold up the other invocations until their own time limits. */
  private killIfBlocked(): void {
    if (this.pongTimer) return;
    this.pongTimer = setTimeout(() => this.kill(), pongMs);
    this.send({ type: 'ping' });
  }

  private send(order: Order, body = ''): void {
    for (const part of encodeFrame(order, Buffer.from(body))) this.orders.write(part);
  }

  /** A process that closes one of its pipes would take calls and never answer. One that ends closes them too. */
  private endSilent(): void {
    this.silenceTimer ??= setTimeout(() => {
      this.lastWords ??= 'it closed its connection to the runner.';
      this.kill();
    }, pongMs).unref();
  }

  /** Only the answer of a call that is under way may be large. */
  private maxBodyBytes({ type, id }: Record<string, unknown>): number {
    const isAnswer = type === 'answered' && typeof id === 'string' && this.waiting.has(id);
    return isAnswer ? maxCodeBodyBytes : maxMessageBytes;
  }

  /** Frames that have arrived, as many as the event loop has time for. */
  private readFrames(): void {
    const startedAt = performance.now();
    try {
      for (let frame = this.frames.next(); frame; frame = this.frames.next()) {
        this.receive(frame);
        // The rest waits: the streams are paused now.
        if (performance.now() - startedAt > sliceMs) break;
      }
    } catch (error) {
      if (!(error instanceof FrameRefused)) throw error;
      this.lastWords ??= `it sent ${error.message}`;
      this.kill();
    }
    this.pace.spend(performance.now() - startedAt);
  }

  private receive({ header, body }: Frame): void {
    const { type, id } = header;
    switch (type) {
      case 'ready':
        this.hasStarted = true;
        return;
      case 'loaded':
        return this.onLoaded?.();
      case 'not loadable': {
        if (!this.onLoaded) return;
        const text = `The code cannot be loaded: ${body.toString()}`;
        this.onOutput({ stream: 'stderr', text: `${text}\n`, isOneWrite: true });
        return this.onLoaded(new CodeFailed('not loadable', text));
      }
      case 'begun':
        return this.noteBegun(id);
      case 'answered':
        return this.settle(id)?.resolve({
          status: statusOf(header['status']),
          body: body.toString(),
          headers: headersOf(header['headers']),
        });
      case 'failed':
        return this.settle(id)?.reject(new CodeFailed('failed', body.toString()));
      case 'too large':
        return this.settle(id)?.reject(
          new CodeFailed(
            'too large',
            `The answer has more than ${maxCodeBodyBytes} bytes: ${String(header['bytes'])}.`,
          ),
        );
      case 'crashed':
        // The host says it once, and ends.
        if (this.lastWords !== undefined) return this.kill();
        this.lastWords = body.toString();
        return this.onOutput({ stream: 'stderr', text: `${this.lastWords}\n`, isOneWrite: true });
      case 'output':
        return this.onOutput({
          invocationId: typeof id === 'string' && this.waiting.has(id) ? id : undefined,
          stream: header['stream'] === 'stderr' ? 'stderr' : 'stdout',
          text: body.toString(),
          isOneWrite: true,
        });
      case 'pong':
        clearTimeout(this.pongTimer);
        this.pongTimer = undefined;
        return;
      default:
        // Only code that writes to the pipe itself sends anything else.
        throw new FrameRefused('a message of an unknown type');
    }
  }

  private noteBegun(id: unknown): void {
    const waiting = typeof id === 'string' ? this.waiting.get(id) : undefined;
    if (waiting) waiting.hasBegun = true;
  }

  private settle(id: unknown): Waiting | undefined {
    const waiting = typeof id === 'string' ? this.waiting.get(id) : undefined;
    if (!waiting) return undefined;
    clearTimeout(waiting.timer);
    this.waiting.delete(id as string);
    this.lastUsedAt = performance.now();
    if (this.isTainted && this.underWay === 0) this.kill();
    return waiting;
  }

  private rejectAll(error: CodeFailed): void {
    this.onLoaded?.(error.failure === 'crashed' ? new CodeFailed('not loadable', error.message) : error);
    const notBegun = new CallNotBegun(error.failure, error.message);
    for (const [id, { hasBegun }] of [...this.waiting]) this.settle(id)?.reject(hasBegun ? error : notBegun);
  }

  private crash(): CodeFailed {
    const words = this.lastWords?.split('\n', 1)[0];
    return new CodeFailed(
      'crashed',
      words ? `The process of the code ended: ${words}` : 'The process of the code ended.',
    );
  }

  /** Output that goes round the captured streams, such as the last words of Node itself. */
  private readRaw(readable: Readable, stream: 'stdout' | 'stderr'): void {
    readable.on('data', (text: Buffer | string) => {
      const startedAt = performance.now();
      this.onOutput({ stream, text: text.toString() });
      this.pace.spend(performance.now() - startedAt);
    });
    readable.on('error', () => undefined);
  }
}

async function folderProblem(folder: TemporaryFolder, pid: number): Promise<string | undefined> {
  try {
    const usage = await folder.usage(pid);
    const limit = usage && exceededLimit(usage);
    return limit && `The temporary folder of the code exceeded its limit of ${limit}.`;
  } catch (error) {
    return `The temporary folder of the code cannot be checked: ${(error as Error).message}`;
  }
}

/** The process ended before it began to load the code. */
function notStarted(detail: string): CodeFailed {
  return new CodeFailed('not started', `The process of the code did not start: ${detail}`);
}

function outOfMemory(): CodeFailed {
  return new CodeFailed('out of memory', 'The process of the code exceeded its memory limit.');
}

function headersOf(given: unknown): Record<string, string> | undefined {
  if (!isRecord(given)) return undefined;
  const texts = Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(texts.slice(0, maxHeaders).map(([name, text]) => [name.toLowerCase(), text]));
}

/** Anything but an HTTP status is an error of the code. */
function statusOf(status: unknown): number {
  return Number.isInteger(status) && (status as number) >= 200 && (status as number) <= 599 ? (status as number) : 500;
}
