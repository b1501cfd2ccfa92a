import type { LoggerService } from '@nestjs/common';
import pino from 'pino';

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'silent';
export type Logger = pino.Logger;

const flushMs = 100;
/**
 * Under load a write for each line, or for a few, costs as much as a tenth of all work. So does a large buffer: the
 * destination measures it again at each line.
 */
const bufferedCharacters = 8_192;
/** Characters that wait for a reader who has stopped reading; lines beyond are dropped. */
const maxUnwritten = 16_000_000;

/** Structured log of one process, one JSON object a line. Secrets never reach it: log ids, not bodies or headers. */
export function createLogger(name: string, level: LogLevel): Logger {
  return pino({ name, level, base: { name }, timestamp: pino.stdTimeFunctions.isoTime }, standardOutput());
}

/**
 * Lines leave together, at the latest after `flushMs`, and all of them at the end of the process. Only a process that is
 * killed loses those of its last moment; in return, no request waits for whoever reads the log.
 */
function standardOutput(): pino.DestinationStream {
  return pino.destination({
    dest: 1,
    sync: false,
    minLength: bufferedCharacters,
    // Above `minLength`, else nothing starts; its own default is 16 kB.
    maxWrite: 2 * bufferedCharacters,
    maxLength: maxUnwritten,
    periodicFlush: flushMs,
  });
}

/** Nest's own messages through our log; its chatter about modules and routes is `debug`. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...context: unknown[]): void {
    this.logger.debug({ context }, String(message));
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
    // It is thrown as well, and told by who starts.
    if (context.at(-1) === 'ExceptionHandler') return this.debug(message, ...context);
    this.logger.error({ context }, String(message));
  }

  fatal(message: unknown, ...context: unknown[]): void {
    this.logger.fatal({ context }, String(message));
  }
}
