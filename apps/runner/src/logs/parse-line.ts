import { isRecord, recordIn } from '@parley/contracts/is-record';
import { type LogContext, type LogLevel, logLevels } from '@parley/contracts/runtime/logs';

export interface ParsedLine extends LogContext {
  level: LogLevel;
  message: string;
}

/** SDKs before 1 print this for each request. */
const requestNote = /^Received \S+ operation for bot /;
const contextNames = ['eventId', 'conversationId', 'userId', 'workflowId'] as const;
const maxIdLength = 200;

/**
 * Line of output: `{"msg", "level", "options"}` of the SDK's logger, or any text, which is `info` from standard output
 * and `error` from standard error.
 */
export function parseLine(stream: 'stdout' | 'stderr', text: string): ParsedLine {
  const structured = text.startsWith('{') ? parsed(text) : undefined;
  if (structured) return structured;
  if (requestNote.test(text)) return { level: 'debug', message: text };
  return { level: stream === 'stderr' ? 'error' : 'info', message: text };
}

function parsed(text: string): ParsedLine | undefined {
  // Any text may begin with a brace.
  const { msg, level, options } = recordIn(text) ?? {};
  if (typeof msg !== 'string' || !logLevels.includes(level as LogLevel)) return undefined;
  return { level: level as LogLevel, message: msg, ...contextOf(options) };
}

function contextOf(options: unknown): LogContext {
  if (!isRecord(options)) return {};
  const named = contextNames.map((name) => [name, options[name]] as const);
  return Object.fromEntries(named.filter(([, id]) => typeof id === 'string' && id !== '' && id.length <= maxIdLength));
}
