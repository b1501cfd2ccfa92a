import type { LogContext } from '@parley/contracts/runtime/logs';
import type { CodeOutput } from './code-output';
import { parseLine, type ParsedLine } from './parse-line';

/** Longest line, in characters. */
const maxLineLength = 16_000;
const cutMark = ' … (cut)';
/** Output of one process in one window, in characters. */
const maxInWindow = 1_000_000;
const windowMs = 60_000;
const dropNote = 'Output was dropped: more than 1 MB in a minute.';

/** Invocation that prints: what its lines are about. */
export interface CallContext extends LogContext {
  traceId?: string;
  /** Bot that the code works for. */
  botId?: string;
}

export type PrintedLine = ParsedLine & CallContext;

/** Text of one stream that has no line end so far. */
type Unfinished = Record<CodeOutput['stream'], string>;

/** Output of one process as lines, each with the invocation that printed it. */
export class BundleOutput {
  private readonly calls = new Map<string | undefined, { context: CallContext; unfinished: Unfinished }>();
  private windowEndsAt = 0;
  private inWindow = 0;

  constructor(
    private readonly onLine: (line: PrintedLine) => void,
    private readonly onDropped: (lines: number) => void,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.begin(undefined, {});
  }

  begin(invocationId: string | undefined, context: CallContext): void {
    this.calls.set(invocationId, { context, unfinished: { stdout: '', stderr: '' } });
  }

  /** A text that begins with white space continues the line before it: stack traces. */
  take({ invocationId, stream, text }: CodeOutput): void {
    const call = this.calls.get(invocationId) ?? this.calls.get(undefined)!;
    const lines = (call.unfinished[stream] + text).split('\n');
    call.unfinished[stream] = lines.pop()!.slice(0, maxLineLength);
    for (const line of joined(lines)) this.print(stream, line, call.context);
  }

  /** Prints what has no line end. */
  end(invocationId: string | undefined): void {
    const call = this.calls.get(invocationId);
    if (!call) return;
    this.calls.delete(invocationId);
    if (invocationId === undefined) this.begin(undefined, {});
    for (const stream of ['stdout', 'stderr'] as const) this.print(stream, call.unfinished[stream], call.context);
  }

  private print(stream: CodeOutput['stream'], text: string, context: CallContext): void {
    if (text.trim() === '') return;
    const { message, ...line } = this.attributed(parseLine(stream, text));
    const short = message.length > maxLineLength ? `${message.slice(0, maxLineLength)}${cutMark}` : message;
    if (this.isWithinLimit(short.length)) this.onLine({ ...context, ...line, message: short });
  }

  /** A line counts for the bot that it names only while the code works for that bot. */
  private attributed(line: ParsedLine): ParsedLine {
    if (line.botId === undefined) return line;
    const isServed = [...this.calls.values()].some(({ context }) => context.botId === line.botId);
    return isServed ? line : { ...line, botId: undefined, isForBot: false };
  }

  private isWithinLimit(length: number): boolean {
    const now = this.now();
    if (now >= this.windowEndsAt) {
      this.windowEndsAt = now + windowMs;
      this.inWindow = 0;
    }
    const wasWithin = this.inWindow <= maxInWindow;
    this.inWindow += length;
    if (this.inWindow <= maxInWindow) return true;
    this.onDropped(1);
    if (wasWithin) this.onLine({ level: 'warn', message: dropNote });
    return false;
  }
}

function joined(lines: string[]): string[] {
  return lines.reduce<string[]>((all, line) => {
    const isContinuation = all.length > 0 && /^\s+\S/.test(line) && all.at(-1)!.length < maxLineLength;
    return isContinuation ? [...all.slice(0, -1), `${all.at(-1)}\n${line}`] : [...all, line];
  }, []);
}
