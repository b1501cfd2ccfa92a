import { isatty } from 'node:tty';
import type { LoggerService } from '@nestjs/common';
import pino from 'pino';
import { readableLine } from './readable-line';

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'silent';
export type Logger = pino.Logger;

const flushMs = 100;
/** Buffer size. Under load, one write per line or per few lines costs up to a tenth of all processor time. */
const bufferedBytes = 32_768;
/** Backpressure limit in bytes: when the reader of the log has stopped, lines beyond it are dropped. */
const maxUnwritten = 16_000_000;

/** Structured log of a process: one JSON object per line, readable text on a terminal. Never log secrets: log ids, not bodies or headers. */
export function createLogger(name: string, level: LogLevel): Logger {
  output ??= standardOutput();
  return pino({ name, level, base: { name }, timestamp: isoTime }, output);
}

let output: pino.DestinationStream | undefined;

let lastMs = 0;
let lastTime = '';

/** Time of a line. Under load, many lines share a millisecond: they take its text from the first one. */
function isoTime(): string {
  const now = Date.now();
  if (now !== lastMs) {
    lastMs = now;
    lastTime = `,"time":"${new Date(now).toISOString()}"`;
  }
  return lastTime;
}

/**
 * Asynchronous buffered output, flushed within `flushMs` and at exit. A killed process loses the lines of its last
 * moment; in return, no request waits for the reader of the log.
 */
function standardOutput(): pino.DestinationStream {
  const output = pino.destination({
    dest: 1,
    sync: false,
    minLength: bufferedBytes,
    // The mode for text measures its whole buffer again for each chunk.
    contentMode: 'buffer',
    // Must be above `minLength`, or nothing is ever written; the default is 16 kB.
    maxWrite: 2 * bufferedBytes,
    maxLength: maxUnwritten,
  });
  // Encoding all lines of a moment at once takes a quarter of the time of encoding each.
  let lines = '';
  const format = isatty(1) ? forTerminal() : (line: string) => line;
  const pass = () => {
    if (lines === '') return;
    // Its type is that of the mode for text.
    output.write(Buffer.from(lines) as unknown as string);
    lines = '';
  };
  // Its own `periodicFlush` writes even without lines, which costs an idle process ten system calls a second.
  let flushing: NodeJS.Timeout | undefined;
  const flush = () => {
    flushing = undefined;
    pass();
    output.flush();
  };
  const flushSoon = () => (flushing ??= setTimeout(flush, flushMs).unref());
  // Lines that arrive during a write stay in the buffer after it.
  output.on('write', (bytes: number) => bytes > 0 && flushSoon());
  // Before the listeners of `output`, which write what it has.
  process.prependListener('beforeExit', pass).prependListener('exit', pass);
  return {
    write(line) {
      lines += format(line);
      if (lines.length < bufferedBytes) flushSoon();
      else pass();
    },
  };
}

/** Node decides about colours, by `NO_COLOR`, `FORCE_COLOR` and `TERM`. */
function forTerminal(): (line: string) => string {
  const hasColors = process.stdout.hasColors();
  return (line) => readableLine(line, { hasColors });
}

/** Loggers of Nest itself: their messages about modules and routes are `debug`. */
const nestContexts = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'NestMicroservice',
  'RouterExplorer',
  'RoutesResolver',
]);

/** Nest's `Logger` in our log. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...context: unknown[]): void {
    const level = nestContexts.has(String(context.at(-1))) ? 'debug' : 'info';
    this.logger[level]({ context }, String(message));
  }

  debug(message: unknown, ...context: unknown[]): void {
    this.logger.debug({ context }, String(message));
  }

  verbose(message: unknown, ...context: unknown[]): void {
    this.logger.debug({ context }, String(message));
  }

  warn(message: unknown, ...context: unknown[]): void {
    this.logger.warn({ context }, String(message));
  }

  error(message: unknown, ...context: unknown[]): void {
    // Nest throws the same error, and its caller logs it.
    if (context.at(-1) === 'ExceptionHandler') return this.debug(message, ...context);
    this.logger.error({ context }, String(message));
  }

  fatal(message: unknown, ...context: unknown[]): void {
    this.logger.fatal({ context }, String(message));
  }
}
