import { readlinkSync } from 'node:fs';
import { ownThreadMs } from '@parley/child-processes/runnable-time';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSWASMModule,
  RELEASE_SYNC,
  Scope,
  type VmCallResult,
} from 'quickjs-emscripten';
import { isNestedTooDeeply, maxLevels } from './nesting';
import { prelude } from './prelude';

export interface RowCode {
  code: string;
  /** Values by column name; null to check the syntax without running the code. */
  row: Record<string, unknown> | null;
  /** Frozen clock of the run, in milliseconds since 1970. */
  instant: number;
  limits: CodeLimits;
  /** Shared memory: time at which the thread starts the code, 0 before; id of the thread; its processor time by then. */
  begun: Float64Array;
}

export interface CodeLimits {
  timeoutMs: number;
  stackKb: number;
  /** Limit of the result as JSON, in characters. */
  resultLength: number;
}

/** A JSON value, or the error as a sentence. */
export type CodeOutcome = { value: unknown } | { error: string };

/** Result of the prelude. Its shape is not guaranteed: the code may have manipulated it. */
type PreludeResult = { value: unknown } | { refusal: string } | Failure;
type Failure = { message: string; stack: string; isSyntax?: boolean };

type Compiled = { code: QuickJSHandle } | { failure: Failure };

const fileName = 'code';
const maxErrorLength = 500;

const memoryMb = 16;
const tooLarge = `The code exceeds its memory limit of ${memoryMb} MB.`;
const tooDeep = 'The code calls itself too deeply, or its values are nested too deeply.';
const endless =
  'The code returns a promise that never settles: promises are allowed, timers and I/O are not available.';

/** Missing in Node's types. */
declare const WebAssembly: { Memory: new (pages: { initial: number; maximum: number }) => object };

/** QuickJS, its stack and its tables take about 5 MB of a module's memory. */
const moduleMb = memoryMb + 6;
const pagesPerMb = 16;

/** No console output of Emscripten: a broken module throws and is replaced. */
const silent: object = { printErr: () => undefined };

class ResultTooLong extends Error {}

let loading: Promise<QuickJSWASMModule> | undefined;

/** Id of this thread for the system; 0 on systems that do not tell it. */
const threadId = threadIdOf();

function threadIdOf(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return 0;
  }
}

/** Processor time of this thread so far, in milliseconds. The time of the clock on systems that do not tell it. */
function processorMs(): number {
  return ownThreadMs() ?? performance.now();
}

/** Runs the code once or checks its syntax, in a runtime of its own: no state is left for the next run. */
export default async function runRowCode(task: RowCode): Promise<CodeOutcome> {
  const run = new Run(await loaded(), task);
  [task.begun[1], task.begun[2]] = [threadId, processorMs()];
  task.begun[0] = Date.now();
  const outcome = run.outcome();
  if (!run.leaveInOrder()) loading = undefined;
  return outcome;
}

/** Cached module. The next run retries a failed load. */
function loaded(): Promise<QuickJSWASMModule> {
  loading ??= load();
  loading.catch(() => (loading = undefined));
  return loading;
}

/**
 * Memory limit: QuickJS in WebAssembly does not count the allocations of its code, so the WebAssembly memory is
 * bounded.
 */
function load(): Promise<QuickJSWASMModule> {
  const wasmMemory = new WebAssembly.Memory({ initial: 16 * pagesPerMb, maximum: moduleMb * pagesPerMb });
  return newQuickJSWASMModuleFromVariant(newVariant(RELEASE_SYNC, { wasmMemory, emscriptenModule: silent }));
}

class Run {
  private readonly scope = new Scope();
  private readonly runtime: QuickJSRuntime;
  private readonly context: QuickJSContext;
  private readonly deadline: number;
  /** Set when the code has run long enough for the first call of the interrupt handler. */
  private processorDeadline?: number;
  private ended = false;
  private interrupted = false;

  constructor(
    quickjs: QuickJSWASMModule,
    private readonly task: RowCode,
  ) {
    const { timeoutMs, stackKb } = task.limits;
    this.deadline = performance.now() + timeoutMs;
    this.runtime = this.scope.manage(quickjs.newRuntime());
    this.runtime.setMaxStackSize(stackKb * 1024);
    this.runtime.setInterruptHandler(() => this.isOver());
    this.context = this.scope.manage(this.runtime.newContext());
  }

  outcome(): CodeOutcome {
    try {
      const outcome = this.runCode();
      return 'error' in outcome ? { error: outcome.error.slice(0, maxErrorLength) } : outcome;
    } catch (error) {
      this.ended = true;
      return { error: this.describeEnd(error as Error) };
    }
  }

  /** Disposes the run. False when the module cannot be used again: an aborted run may have corrupted its memory. */
  leaveInOrder(): boolean {
    if (this.ended) return false;
    try {
      this.scope.dispose();
      return true;
    } catch {
      return false;
    }
  }

  private runCode(): CodeOutcome {
    const { context, task } = this;
    const prepared = this.call(this.evaluate(prelude), context.newNumber(task.instant));
    const [run, settled, failure] = ['run', 'settled', 'failure'].map((name) => this.property(prepared, name));
    const compiled = this.compile(failure!);
    // Code that closes its function runs while it is compiled.
    if (this.interrupted) throw new Error('interrupted');
    if ('failure' in compiled) return { error: this.describeFailure(compiled.failure) };
    if (!task.row) return { value: null };
    const row = context.newString(JSON.stringify(task.row));
    const result = this.textOf(this.call(run!, compiled.code, row)) ?? this.textOf(this.settled(settled!));
    if (result !== undefined) return this.toOutcome(result);
    // QuickJS reports no error for a promise job that was interrupted.
    if (this.interrupted) throw new Error('interrupted');
    return { error: endless };
  }

  private describeEnd(error: Error): string {
    const { timeoutMs, resultLength } = this.task.limits;
    if (error instanceof ResultTooLong) return `The result is longer than ${resultLength} characters.`;
    if (this.interrupted) return `The code took longer than ${timeoutMs} ms.`;
    const { message } = error;
    if (/out of memory|cannot enlarge memory/i.test(message)) return tooLarge;
    return /call stack|stack overflow/i.test(message) ? tooDeep : 'The code cannot be run.';
  }

  /** Interrupt handler of QuickJS. On a busy machine the deadline can pass before the code has had its processor time. */
  private isOver(): boolean {
    this.processorDeadline ??= processorMs() + this.task.limits.timeoutMs;
    this.interrupted = performance.now() > this.deadline && processorMs() > this.processorDeadline;
    return this.interrupted;
  }

  /** Compiles the code as an expression, else as a function body. Line numbers stay those of the author. */
  private compile(failure: QuickJSHandle): Compiled {
    const { code } = this.task;
    const expression = this.tryToEvaluate(`(function (row) { return (${code.replace(/[\s;]+$/, '')}\n) })`, failure);
    if ('code' in expression || !expression.failure.isSyntax) return expression;
    const body = this.tryToEvaluate(`(function (row) { ${code}\n})`, failure);
    if ('code' in body || !body.failure.isSyntax) return body;
    const failures = /\breturn\b/.test(code) ? [body.failure] : [expression.failure, body.failure];
    const lines = code.trimEnd().split('\n').length;
    // An error after the last line is in the wrapper, where the author cannot fix it.
    const reported = failures.find(({ stack }) => Number(lineOf(stack) ?? 0) <= lines);
    return { failure: reported ?? { message: 'the code ends too early', stack: `${fileName}:${lines}` } };
  }

  /** Code that closes the wrapping function runs here already, in the same sandbox as later. */
  private tryToEvaluate(text: string, failure: QuickJSHandle): Compiled {
    const result = this.context.evalCode(text, fileName, { compileOnly: !this.task.row });
    if (!result.error) return { code: this.scope.manage(result.value) };
    const failureJson = this.textOf(this.call(failure, this.scope.manage(result.error)));
    return { failure: JSON.parse(failureJson!) as Failure };
  }

  private settled(settled: QuickJSHandle): QuickJSHandle {
    const jobs = this.runtime.executePendingJobs();
    if (jobs.error) throw this.toError(jobs.error);
    return this.call(settled);
  }

  private evaluate(text: string): QuickJSHandle {
    return this.unwrap(this.context.evalCode(text, 'prelude'));
  }

  private call(what: QuickJSHandle, ...given: QuickJSHandle[]): QuickJSHandle {
    return this.unwrap(this.context.callFunction(what, this.context.undefined, ...given));
  }

  private property(object: QuickJSHandle, name: string): QuickJSHandle {
    return this.scope.manage(this.context.getProp(object, name));
  }

  /** Checks the length before it copies the text: code that replaces `toJSON` for all objects can make it any length. */
  private textOf(handle: QuickJSHandle): string | undefined {
    if (this.context.typeof(handle) !== 'string') return undefined;
    if (this.context.getNumber(this.property(handle, 'length')) > this.task.limits.resultLength)
      throw new ResultTooLong();
    return this.context.getString(handle);
  }

  private unwrap(result: VmCallResult<QuickJSHandle>): QuickJSHandle {
    if (result.error) throw this.toError(result.error);
    return this.scope.manage(result.value);
  }

  /** QuickJS dumps null when it has no memory left for an error object. */
  private toError(handle: QuickJSHandle): Error {
    const error = this.scope.manage(handle).consume((thrown) => this.context.dump(thrown) as Error | null);
    return new Error(error === null ? 'out of memory' : String(error.message));
  }

  private toOutcome(json: string): CodeOutcome {
    const result = JSON.parse(json) as PreludeResult;
    if ('message' in result) return { error: this.describeFailure(result) };
    if ('refusal' in result) return { error: `The result is or contains ${result.refusal}, which cannot be stored.` };
    if (isNestedTooDeeply(result.value)) return { error: `The result is nested deeper than ${maxLevels} levels.` };
    return { value: result.value };
  }

  private describeFailure({ message, stack }: Failure): string {
    if (message === 'circular reference') return 'The result contains a circular reference and cannot be stored.';
    // QuickJS throws null when it has no memory left for an error.
    if (message === 'out of memory' || message === 'null') return tooLarge;
    return message === 'stack overflow' ? tooDeep : describe(message, stack);
  }
}

function describe(message: string, stack: string): string {
  const line = lineOf(stack);
  const text = message.replace(/^'(.+)' is not defined$/, '$1 is not defined').slice(0, maxErrorLength);
  return line ? `Error in line ${line}: ${text}` : `Error: ${text}`;
}

function lineOf(stack: string): string | undefined {
  return /\bcode:(\d+)/.exec(stack)?.[1];
}
