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
import { isNestedTooDeeply, maxLevels } from '../nesting';
import { prelude } from './prelude';

export interface RowCode {
  code: string;
  /** Values by name of their column; null for code that is to be read and not run. */
  row: Record<string, unknown> | null;
  /** What the clock shows, in milliseconds since 1970, from beginning to end. */
  instant: number;
  limits: CodeLimits;
  /** Set to the time at which the thread is ready and the code begins; 0 before. */
  begun: Float64Array;
}

export interface CodeLimits {
  timeoutMs: number;
  stackKb: number;
  /** Characters of the result as JSON. */
  resultLength: number;
}

/** The value, which is JSON, or why there is none, as a sentence. */
export type CodeOutcome = { value: unknown } | { error: string };

/** What the prelude answers, unless the code has a hand in it. */
type Answer = { value: unknown } | { refusal: string } | Failure;
type Failure = { message: string; stack: string; isSyntax?: boolean };

type Compiled = { code: QuickJSHandle } | { failure: Failure };

const fileName = 'code';
const maxErrorLength = 500;

const memoryMb = 16;
const tooLarge = `The code needs more than ${memoryMb} MB.`;
const tooDeep = 'The code calls itself too deeply, or its values are nested too deeply.';
const endless = 'The code waits for something that never comes: it may use promises, but not wait.';

/** Node's types lack it. */
declare const WebAssembly: { Memory: new (pages: { initial: number; maximum: number }) => object };

/** QuickJS, its stack and its tables take some 5 MB of a module's memory. */
const moduleMb = memoryMb + 6;
const pagesPerMb = 16;

/** A module that breaks throws, and is replaced: it needs not write to the console besides. */
const silent: object = { printErr: () => undefined };

class AnswerTooLong extends Error {}

/** Some 20 ms of a core that has nothing else to do. */
const minInterrupts = 100;

let loading: Promise<QuickJSWASMModule> | undefined;

/** Runs or reads the code once, in a runtime of its own, so that nothing is left of it for the next one. */
export default async function runRowCode(task: RowCode): Promise<CodeOutcome> {
  const run = new Run(await loaded(), task);
  task.begun[0] = Date.now();
  const outcome = run.outcome();
  if (!run.leaveInOrder()) loading = undefined;
  return outcome;
}

/** The next run loads again what could not be loaded. */
function loaded(): Promise<QuickJSWASMModule> {
  loading ??= load();
  loading.catch(() => (loading = undefined));
  return loading;
}

/** QuickJS does not count what its code allocates when it runs in WebAssembly, so the memory itself has an end. */
function load(): Promise<QuickJSWASMModule> {
  const wasmMemory = new WebAssembly.Memory({ initial: 16 * pagesPerMb, maximum: moduleMb * pagesPerMb });
  return newQuickJSWASMModuleFromVariant(newVariant(RELEASE_SYNC, { wasmMemory, emscriptenModule: silent }));
}

class Run {
  private readonly scope = new Scope();
  private readonly runtime: QuickJSRuntime;
  private readonly context: QuickJSContext;
  private readonly deadline: number;
  private ended = false;
  private interrupted = false;
  private interrupts = 0;

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

  /** Whether the module can be used again: what ended the code may have left its memory in disorder. */
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
    if ('failure' in compiled) return { error: this.describeFailure(compiled.failure) };
    if (!task.row) return { value: null };
    const row = context.newString(JSON.stringify(task.row));
    const answer = this.textOf(this.call(run!, compiled.code, row)) ?? this.textOf(this.settled(settled!));
    if (answer !== undefined) return this.toOutcome(answer);
    // What runs after a promise and is ended tells nobody.
    if (this.interrupted) throw new Error('interrupted');
    return { error: endless };
  }

  private describeEnd(error: Error): string {
    const { timeoutMs, resultLength } = this.task.limits;
    if (error instanceof AnswerTooLong) return `The result is longer than ${resultLength} characters.`;
    if (this.interrupted) return `The code took longer than ${timeoutMs} ms.`;
    const { message } = error;
    if (/out of memory|cannot enlarge memory/i.test(message)) return tooLarge;
    return /call stack|stack overflow/i.test(message) ? tooDeep : 'The code cannot be run.';
  }

  /** Asked by QuickJS again and again. On a busy machine time passes for code that had no chance to do anything. */
  private isOver(): boolean {
    this.interrupted = ++this.interrupts > minInterrupts && performance.now() > this.deadline;
    return this.interrupted;
  }

  /** An expression, or what stands in a function: whichever the code can be read as. The first line stays the first. */
  private compile(failure: QuickJSHandle): Compiled {
    const { code } = this.task;
    const expression = this.tryToEvaluate(`(function (row) { return (${code.replace(/[\s;]+$/, '')}\n) })`, failure);
    if ('code' in expression || !expression.failure.isSyntax) return expression;
    const body = this.tryToEvaluate(`(function (row) { ${code}\n})`, failure);
    if ('code' in body || !body.failure.isSyntax) return body;
    const failures = /\breturn\b/.test(code) ? [body.failure] : [expression.failure, body.failure];
    const lines = code.trimEnd().split('\n').length;
    // What is written behind the code is nothing that its author could mend.
    const told = failures.find(({ stack }) => Number(lineOf(stack) ?? 0) <= lines);
    return { failure: told ?? { message: 'the code ends too early', stack: `${fileName}:${lines}` } };
  }

  /** Code that closes the function around it runs here already, with nothing in reach that it has not later on. */
  private tryToEvaluate(text: string, failure: QuickJSHandle): Compiled {
    const result = this.context.evalCode(text, fileName, { compileOnly: !this.task.row });
    if (!result.error) return { code: this.scope.manage(result.value) };
    const told = this.textOf(this.call(failure, this.scope.manage(result.error)));
    return { failure: JSON.parse(told!) as Failure };
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

  /** Whoever replaces what JSON is made of, for all objects, may have made it of any length. */
  private textOf(handle: QuickJSHandle): string | undefined {
    if (this.context.typeof(handle) !== 'string') return undefined;
    if (this.context.getNumber(this.property(handle, 'length')) > this.task.limits.resultLength)
      throw new AnswerTooLong();
    return this.context.getString(handle);
  }

  private unwrap(result: VmCallResult<QuickJSHandle>): QuickJSHandle {
    if (result.error) throw this.toError(result.error);
    return this.scope.manage(result.value);
  }

  /** QuickJS has no memory left for an error object when it answers null. */
  private toError(handle: QuickJSHandle): Error {
    const error = this.scope.manage(handle).consume((thrown) => this.context.dump(thrown) as Error | null);
    return new Error(error === null ? 'out of memory' : String(error.message));
  }

  private toOutcome(json: string): CodeOutcome {
    const answer = JSON.parse(json) as Answer;
    if ('message' in answer) return { error: this.describeFailure(answer) };
    if ('refusal' in answer) return { error: `The result is or holds ${answer.refusal}, which cannot be stored.` };
    if (isNestedTooDeeply(answer.value)) return { error: `The result is nested deeper than ${maxLevels} levels.` };
    return { value: answer.value };
  }

  private describeFailure({ message, stack }: Failure): string {
    if (message === 'circular reference') return 'The result refers to itself and cannot be stored.';
    // With no memory left for an error, QuickJS throws null.
    if (message === 'out of memory' || message === 'null') return tooLarge;
    return message === 'stack overflow' ? tooDeep : describe(message, stack);
  }
}

/** @param stack of the error, whose first place in the code is the line that is told. */
function describe(message: string, stack: string): string {
  const line = lineOf(stack);
  const text = message.replace(/^'(.+)' is not defined$/, '$1 is not defined').slice(0, maxErrorLength);
  return line ? `Error in line ${line}: ${text}` : `Error: ${text}`;
}

function lineOf(stack: string): string | undefined {
  return /\bcode:(\d+)/.exec(stack)?.[1];
}
