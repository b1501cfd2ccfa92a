import { isRecord, recordIn } from '@parley/contracts/is-record';
import { mapEntries } from '@parley/contracts/entries';
import { issueCategories, type IssueValue } from '@parley/contracts/runtime/issues';
import { type LogContext, type LogIssue, type LogLevel, logLevels } from '@parley/contracts/runtime/logs';

type Stream = 'stdout' | 'stderr';

export interface ParsedLine extends LogContext {
  level: LogLevel;
  message: string;
  /** Integrations name the bot, and say who may see the line. */
  botId?: string;
  isForBot?: boolean;
  isForOwner?: boolean;
  issue?: LogIssue;
}

/** SDKs before 1 print this for each request. */
const requestNote = /^Received \S+ operation for bot /;
const contextNames = ['eventId', 'conversationId', 'userId', 'workflowId'] as const;
const maxIdLength = 200;

/**
 * Line of output: `{"msg", "level", "options"}` of the SDK's logger, `{"type": "issue"}` of an integration, or any text,
 * which is `info` from standard output and `error` from standard error.
 */
export function parseLine(stream: Stream, text: string): ParsedLine {
  const structured = text.startsWith('{') ? parsed(stream, text) : undefined;
  if (structured) return structured;
  if (requestNote.test(text)) return { level: 'debug', message: text };
  return { level: levelOf(stream), message: text };
}

export function isStructured(stream: Stream, text: string): boolean {
  return text.startsWith('{') && parsed(stream, text) !== undefined;
}

function levelOf(stream: Stream): LogLevel {
  return stream === 'stderr' ? 'error' : 'info';
}

/** Integrations of SDKs before 1 print no level. */
function parsed(stream: Stream, text: string): ParsedLine | undefined {
  // Any text may begin with a brace.
  const record = recordIn(text);
  if (!record) return undefined;
  const { type, msg, level, options } = record;
  if (type === 'issue') return parsedIssue(record);
  if (typeof msg !== 'string') return undefined;
  const shown = level === undefined && record['visible_to_bot_owner'] === true ? levelOf(stream) : level;
  if (!logLevels.includes(shown as LogLevel)) return undefined;
  return { level: shown as LogLevel, message: msg, ...audienceOf(record), ...contextOf(options) };
}

function audienceOf(record: Record<string, unknown>): Pick<ParsedLine, 'botId' | 'isForBot' | 'isForOwner'> {
  return {
    ...botIn(record),
    ...(record['visible_to_bot_owner'] === true && { isForBot: true }),
    ...(record['hidden_to_integration_owner'] === true && { isForOwner: false }),
  };
}

function botIn({ botId }: Record<string, unknown>): { botId?: string } {
  return typeof botId === 'string' && botId.length <= maxIdLength ? { botId } : {};
}

function parsedIssue(record: Record<string, unknown>): ParsedLine | undefined {
  const { code, category, title, description, data, groupBy } = record;
  const texts = [code, title, description];
  if (!texts.every((text): text is string => typeof text === 'string')) return undefined;
  const issue: LogIssue = {
    code: code as string,
    category: issueCategories.find((known) => known === category) ?? 'other',
    title: title as string,
    description: description as string,
    data: mapEntries(isRecord(data) ? data : {}, valueIn),
    groupBy: Array.isArray(groupBy) ? groupBy.filter((name) => typeof name === 'string') : [],
  };
  return { level: 'warn', message: `${issue.title}: ${issue.description}`, isForBot: true, ...botIn(record), issue };
}

function valueIn(value: unknown): IssueValue {
  const { raw, pretty } = isRecord(value) ? value : { raw: value };
  const text = typeof raw === 'string' ? raw : (JSON.stringify(raw) ?? '');
  return typeof pretty === 'string' ? { raw: text, pretty } : { raw: text };
}

function contextOf(options: unknown): LogContext {
  if (!isRecord(options)) return {};
  const named = contextNames.map((name) => [name, options[name]] as const);
  return Object.fromEntries(named.filter(([, id]) => typeof id === 'string' && id !== '' && id.length <= maxIdLength));
}
