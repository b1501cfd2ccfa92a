interface LogLine {
  level: number;
  time: string;
  name: string;
  msg?: string;
  err?: { message?: string; stack?: string };
  [field: string]: unknown;
}

const levels: Record<number, { name: string; color: number }> = {
  10: { name: 'TRACE', color: 90 },
  20: { name: 'DEBUG', color: 90 },
  30: { name: 'INFO ', color: 32 },
  40: { name: 'WARN ', color: 33 },
  50: { name: 'ERROR', color: 31 },
  60: { name: 'FATAL', color: 31 },
};
const error = 50;
const defaultColor = 39;

/**
 * Line of the log for a terminal, from its JSON. Stacks are below errors only: a warning has its reason. Not `pino-pretty`,
 * whose 13 dependencies would come into production for these lines, with an output of its own beside our buffered one.
 */
export function readableLine(json: string, { hasColors }: { hasColors: boolean }): string {
  const line = parse(json);
  if (!line) return json;
  const { level, time, name, msg, err, ...fields } = line;
  const { name: levelName, color } = levels[level] ?? levels[30]!;
  const message = [msg, err?.message === msg ? undefined : err?.message].filter((part) => part !== undefined);
  const words = [
    timeOf(time),
    hasColors ? `\u001b[${color}m${levelName}\u001b[${defaultColor}m` : levelName,
    `${name}:`,
    message.map(escape).join(': '),
    ...Object.entries(fields).map(([key, value]) => `${escape(key)}=${valueOf(value)}`),
  ];
  const stack = level >= error ? (err?.stack ?? '').split('\n').filter(Boolean) : [];
  return [words.filter(Boolean).join(' '), ...stack.map((part) => `    ${escape(part)}`), ''].join('\n');
}

function parse(json: string): LogLine | undefined {
  try {
    return JSON.parse(json) as LogLine;
  } catch {
    // Not written by pino.
    return undefined;
  }
}

/** Time of day of this machine. */
function timeOf(time: string): string {
  const date = new Date(time);
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits);
  return `${hours}:${minutes}:${seconds}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

function valueOf(value: unknown): string {
  return escape(typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value));
}

/** Control characters as `\u001b`: messages contain texts of users, which must not change the terminal. */
function escape(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
