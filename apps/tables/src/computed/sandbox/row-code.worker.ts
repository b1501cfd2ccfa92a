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
import { prelude } from './prelude';

export interface RowCode {
  code: string;
  /** Values by name of their column. */
  row: Record<string, unknown>;
  /** What the clock shows, in milliseconds since 1970, from beginning to end. */
  instant: number;
  limits: CodeLimits;
}

export interface CodeLimits {
  timeoutMs: number;
  stackKb: number;
  /** Characters of the result as JSON. */
  resultLength: number;
}

/** The value, which is JSON, or why there is none, as a sentence. */
export type CodeOutcome = { value: unknown } | { error: string };

/** What the prelude answers. */
type Answer = { value: unknown } | { refusal: string } | { message: string; stack: string };

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

/** Some 20 ms of a core that has nothing else to do. */
const minInterrupts = 100;

let loading: Promise<QuickJSWASMModule> | undefined;

/** Runs the code once, in a runtime of its own, so that nothing is left of it for the next one. */
export default async function runRowCode(task: RowCode): Promise<CodeOutcome> {
  const run = new Run(await (loading ??= load()), task);
  const outcome = run.outcome();
  if (!run.leaveInOrder()) loading = undefined;
  return outcome;
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
      return this.runCode();
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
    const compiled = this.compile();
    if ('error' in compiled) return compiled;
    const prepared = this.call(this.evaluate(prelude), context.newNumber(task.instant));
    const row = context.newString(JSON.stringify(task.row));
    const answer =
      this.textOf(this.call(this.property(prepared, 'run'), compiled.code, row)) ?? this.textOf(this.settled(prepared));
    if (answer !== undefined) return this.toOutcome(answer);
    // What runs after a promise and is ended tells nobody.
    if (this.interrupted) throw new Error('interrupted');
    return { error: endless };
  }

  private describeEnd({ message }: Error): string {
    if (this.interrupted) return `The code took longer than ${this.task.limits.timeoutMs} ms.`;
    if (/out of memory|cannot enlarge memory/i.test(message)) return tooLarge;
    return /call stack|stack overflow/i.test(message) ? tooDeep : 'The code cannot be run.';
  }

  /** Asked by QuickJS again and again. On a busy machine time passes for code that had no chance to do anything. */
  private isOver(): boolean {
    this.interrupted = ++this.interrupts > minInterrupts && performance.now() > this.deadline;
    return this.interrupted;
  }

  /** An expression, or what stands in a function: whichever the code can be read as. The first line stays the first. */
  private compile(): { code: QuickJSHandle } | { error: string } {
    const { code } = this.task;
    const expression = this.tryToEvaluate(`(function (row) { return (${code.replace(/[\s;]+$/, '')}\n) })`);
    if ('code' in expression) return expression;
    const body = this.tryToEvaluate(`(function (row) { ${code}\n})`);
    if ('code' in body) return body;
    return /\breturn\b/.test(code) ? body : expression;
  }

  private tryToEvaluate(text: string): { code: QuickJSHandle } | { error: string } {
    const result = this.context.evalCode(text, fileName);
    if (!result.error) return { code: this.scope.manage(result.value) };
    const error = this.scope.manage(result.error).consume((handle) => this.context.dump(handle) as Error);
    if (error?.name !== 'SyntaxError') throw new Error(error?.message ?? 'out of memory');
    return { error: describe(error.message, error.stack ?? '') };
  }

  private settled(prepared: QuickJSHandle): QuickJSHandle {
    const jobs = this.runtime.executePendingJobs();
    if (jobs.error) throw this.toError(jobs.error);
    return this.call(this.property(prepared, 'settled'));
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

  private textOf(handle: QuickJSHandle): string | undefined {
    return this.context.typeof(handle) === 'string' ? this.context.getString(handle) : undefined;
  }

  private unwrap(result: VmCallResult<QuickJSHandle>): QuickJSHandle {
    if (result.error) throw this.toError(result.error);
    return this.scope.manage(result.value);
  }

  /** QuickJS has no memory left for an error object when it answers null. */
  private toError(handle: QuickJSHandle): Error {
    const error = this.scope.manage(handle).consume((thrown) => this.context.dump(thrown) as Error | null);
    return new Error(error?.message ?? 'out of memory');
  }

  private toOutcome(json: string): CodeOutcome {
    const answer = JSON.parse(json) as Answer;
    if ('message' in answer) return { error: this.describeFailure(answer) };
    if ('refusal' in answer) return { error: `The result is or holds ${answer.refusal}, which cannot be stored.` };
    const { resultLength } = this.task.limits;
    if (json.length > resultLength) return { error: `The result is longer than ${resultLength} characters.` };
    return { value: answer.value };
  }

  private describeFailure({ message, stack }: { message: string; stack: string }): string {
    if (message === 'circular reference') return 'The result refers to itself and cannot be stored.';
    // With no memory left for an error, QuickJS throws null.
    if (message === 'out of memory' || message === 'null') return tooLarge;
    return message === 'stack overflow' ? tooDeep : describe(message, stack);
  }
}

/** @param stack of the error, whose first place in the code is the line that is told. */
function describe(message: string, stack: string): string {
  const line = /\bcode:(\d+)/.exec(stack)?.[1];
  const text = message.replace(/^'(.+)' is not defined$/, '$1 is not defined').slice(0, maxErrorLength);
  return line ? `Error in line ${line}: ${text}` : `Error: ${text}`;
}
