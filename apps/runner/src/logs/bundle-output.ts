import type { LogContext } from '@parley/contracts/runtime/logs';
import type { CodeOutput } from './code-output';
import { isStructured, parseLine, type ParsedLine } from './parse-line';

/** Longest line, in characters. */
const maxLineLength = 16_000;
const cutMark = ' … (cut)';
/** Characters of a line whose end has not arrived: a structured line is parsed as a whole. */
const maxUnfinishedLength = 100_000;
/** Output of one process in one window, in characters and in line breaks. */
const maxInWindow = { characters: 1_000_000, lines: 50_000 };
const windowMs = 60_000;
const dropNote = 'Output was dropped: more than 1 MB or 50,000 lines in a minute.';
const lineBreak = 10;
/** Printed steps that may stay in memory beside those that wait. */
const maxStepsKept = 1_000;

/** Invocation that prints: what its lines are about. */
export interface CallContext extends LogContext {
  traceId?: string;
  /** Bot that the code works for. */
  botId?: string;
}

export type PrintedLine = ParsedLine & CallContext;

type Stream = CodeOutput['stream'];

interface Call {
  context: CallContext;
  /** Text of each stream that has no line end so far, of what was printed. */
  unfinished: Record<Stream, string>;
  /** Characters of each stream since its last line end, of what was taken. */
  unfinishedLength: Record<Stream, number>;
}

/** Step of the output, in the order in which the process took it. */
type Step =
  | { kind: 'begin'; call: Call }
  | { kind: 'text'; call: Call; stream: Stream; text: string; isOneWrite?: boolean; at: number }
  | { kind: 'end'; call: Call }
  | { kind: 'dropped' };

/**
 * Output of one process as lines, each with the invocation that printed it. `take` only counts and keeps texts, up to a limit;
 * `printNext` makes lines of them when the event loop has time.
 */
export class BundleOutput {
  private readonly calls = new Map<string | undefined, Call>();
  /** Calls that run at the time of the step that is printed. */
  private readonly running = new Set<Call>();
  private steps: Step[] = [];
  private nextStep = 0;
  private windowEndsAt = 0;
  private inWindow = { characters: 0, lines: 0, isExceeded: false };

  /** @param onWaiting there is something for `printNext` */
  constructor(
    private readonly onLine: (line: PrintedLine) => void,
    private readonly onDropped: (lines: number) => void,
    private readonly onWaiting: (output: BundleOutput) => void = () => undefined,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.begin(undefined, {});
  }

  begin(invocationId: string | undefined, context: CallContext): void {
    const call = { context, unfinished: { stdout: '', stderr: '' }, unfinishedLength: { stdout: 0, stderr: 0 } };
    this.calls.set(invocationId, call);
    this.add({ kind: 'begin', call });
  }

  take({ invocationId, stream, text: given, isOneWrite }: CodeOutput): void {
    const call = this.calls.get(invocationId) ?? this.calls.get(undefined)!;
    const text = withoutExcess(call, stream, given);
    const length = this.lengthWithinLimit(text);
    if (length > 0) this.add({ kind: 'text', call, stream, text: text.slice(0, length), isOneWrite, at: 0 });
    if (length === text.length) return;
    this.onDropped(Math.max(1, lineBreaksIn(text, length, Infinity).count));
    if (!this.inWindow.isExceeded) this.add({ kind: 'dropped' });
    this.inWindow.isExceeded = true;
  }

  /** Prints what has no line end. */
  end(invocationId: string | undefined): void {
    const call = this.calls.get(invocationId);
    if (!call) return;
    this.calls.delete(invocationId);
    this.add({ kind: 'end', call });
    if (invocationId === undefined) this.begin(undefined, {});
  }

  /** Prints a line, if there is one. True while there is more. */
  printNext(): boolean {
    const step = this.steps[this.nextStep];
    if (step && this.isDone(step)) this.nextStep += 1;
    if (this.nextStep === this.steps.length || this.nextStep > maxStepsKept) {
      this.steps.splice(0, this.nextStep);
      this.nextStep = 0;
    }
    return this.steps.length > 0;
  }

  private add(step: Step): void {
    this.steps.push(step);
    this.onWaiting(this);
  }

  /** Prints one line of the step. */
  private isDone(step: Step): boolean {
    switch (step.kind) {
      case 'begin':
        this.running.add(step.call);
        return true;
      case 'text':
        return this.printLine(step);
      case 'end':
        this.running.delete(step.call);
        for (const stream of ['stdout', 'stderr'] as const)
          this.print(stream, step.call.unfinished[stream], step.call.context);
        return true;
      case 'dropped':
        this.onLine({ level: 'warn', message: dropNote });
        return true;
    }
  }

  /**
   * Lines of one write are one line of the log, except structured ones. In other text, a line that begins with white space
   * continues the one before it: stack traces.
   */
  private printLine(step: Step & { kind: 'text' }): boolean {
    const { call, stream, text, isOneWrite } = step;
    let line: string | undefined;
    let isOpen = true;
    for (let end = text.indexOf('\n', step.at); end >= 0; end = text.indexOf('\n', step.at)) {
      const part = text.slice(step.at, end);
      if (line === undefined) {
        line = this.finished(call, stream, part);
        isOpen = !isOneWrite || !isStructured(stream, line);
      } else {
        const isShort = line.length + part.length < maxLineLength;
        const isMore = isOneWrite ? !isStructured(stream, part) : /^\s+\S/.test(part);
        if (!isOpen || !isShort || !isMore) break;
        line = `${line}\n${part}`;
      }
      step.at = end + 1;
    }
    if (line !== undefined) {
      this.print(stream, isOneWrite ? withoutBlankEnds(line) : line, call.context);
      return step.at === text.length;
    }
    const { unfinished } = call;
    unfinished[stream] = (unfinished[stream] + text.slice(step.at)).slice(0, maxUnfinishedLength);
    return true;
  }

  private finished({ unfinished }: Call, stream: Stream, part: string): string {
    const whole = unfinished[stream] + part;
    unfinished[stream] = '';
    return whole;
  }

  private print(stream: Stream, text: string, context: CallContext): void {
    if (text.trim() === '') return;
    const { message, ...line } = this.attributed(parseLine(stream, text));
    const short = message.length > maxLineLength ? `${message.slice(0, maxLineLength)}${cutMark}` : message;
    this.onLine({ ...context, ...line, message: short });
  }

  /** A line counts for the bot that it names only while the code works for that bot. */
  private attributed(line: ParsedLine): ParsedLine {
    if (line.botId === undefined) return line;
    for (const { context } of this.running) if (context.botId === line.botId) return line;
    return { ...line, botId: undefined, isForBot: false };
  }

  /** Characters of the text that the limit still allows. */
  private lengthWithinLimit(text: string): number {
    const now = this.now();
    if (now >= this.windowEndsAt) {
      this.windowEndsAt = now + windowMs;
      this.inWindow = { characters: 0, lines: 0, isExceeded: false };
    }
    const { inWindow } = this;
    const { count, end } = lineBreaksIn(text, 0, maxInWindow.lines - inWindow.lines);
    const length = Math.min(end, maxInWindow.characters - inWindow.characters);
    inWindow.characters += length;
    inWindow.lines += count;
    return length;
  }
}

/** The text without blank lines before and behind it. */
function withoutBlankEnds(text: string): string {
  return text.includes('\n') ? text.replace(/^\s*\n/, '').trimEnd() : text;
}

/** The text without the rest of a line that is too long already. */
function withoutExcess({ unfinishedLength }: Call, stream: Stream, text: string): string {
  const former = unfinishedLength[stream];
  const lastEnd = text.lastIndexOf('\n');
  unfinishedLength[stream] = lastEnd < 0 ? former + text.length : text.length - lastEnd - 1;
  if (former < maxUnfinishedLength) return text;
  return lastEnd < 0 ? '' : text.slice(text.indexOf('\n'));
}

/** Line breaks from `start` on, up to `max` of them, and where the text behind the last one of these ends. */
function lineBreaksIn(text: string, start: number, max: number): { count: number; end: number } {
  let count = 0;
  for (let index = start; index < text.length; index += 1) {
    if (text.charCodeAt(index) !== lineBreak) continue;
    if (count >= max) return { count, end: index };
    count += 1;
  }
  return { count, end: text.length };
}
