/** Excludes year 0, which Postgres lacks, and years of five digits, which it writes in another format. */
const canonical = /^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const dateTime = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)$/i;

/**
 * Normalizes an ISO 8601 date-time with a zone to UTC with milliseconds, so that texts sort by time. Undefined for
 * anything else, also for a day or an hour that does not exist.
 */
export function toUtc(text: string): string | undefined {
  if (canonical.test(text)) return exists(text) ? text : undefined;
  const [, date, minutes, seconds = '00', fraction = '', zone] = dateTime.exec(text) ?? [];
  if (date === undefined || minutes === undefined || zone === undefined) return undefined;
  const local = `${date}T${minutes}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const offset = offsetMs(zone);
  if (!exists(local) || offset === undefined) return undefined;
  const utc = new Date(Date.parse(local) - offset).toISOString();
  return canonical.test(utc) ? utc : undefined;
}

/** Like `toUtc`; a date alone is its start in UTC, and a space may stand for the T. */
export function toUtcOfDate(text: string): string | undefined {
  return toUtc(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00Z` : text.replace(' ', 'T'));
}

/** JavaScript reads February 30 as a day in March; the round trip detects it. */
function exists(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString() === text;
}

function offsetMs(zone: string): number | undefined {
  if (zone.length === 1) return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(-2));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
