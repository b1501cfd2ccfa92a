export type TimeFormat = 'date' | 'dateTime' | 'time' | undefined;

/** Built-in number formats (ECMA-376 part 1, 18.8.30), including the East Asian ones. */
const builtIn: [from: number, to: number, format: TimeFormat][] = [
  [14, 17, 'date'],
  [18, 21, 'time'],
  [22, 22, 'dateTime'],
  [27, 31, 'date'],
  [32, 35, 'time'],
  [36, 36, 'date'],
  [45, 47, 'time'],
  [50, 54, 'date'],
  [55, 56, 'time'],
  [57, 58, 'date'],
];

const secondsOfDay = 86_400;
const unixEpoch = 25_569;
const daysFrom1900To1904 = 1_462;
/** Serial number of 9999-12-31. */
const lastDay = 2_958_465;

export function builtInFormat(id: number): TimeFormat {
  return builtIn.find(([from, to]) => id >= from && id <= to)?.[2];
}

export function timeFormatOf(code: string): TimeFormat {
  const section = code.replace(/"[^"]*"|\\.|[_*]./g, '').split(';', 1)[0]!;
  const letters = section.replace(/\[(?![hms]+\])[^\]]*\]|general|am\/pm|a\/p/gi, '').toLowerCase();
  const hasTime = /[hs]/.test(letters);
  if (/[yd]/.test(letters) || (letters.includes('m') && !hasTime)) return hasTime ? 'dateTime' : 'date';
  return hasTime ? 'time' : undefined;
}

/** Text of a number cell: numbers without binary rounding digits, dates and times in ISO 8601. */
export function numberText(value: string, format: TimeFormat, { from1904 }: { from1904: boolean }): string {
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number)) return value;
  if (format === undefined || number < 0 || number > lastDay) return String(number);
  const seconds = Math.round(number * secondsOfDay);
  if (format === 'time') return clock(seconds);
  const days = Math.floor(seconds / secondsOfDay);
  const date = isoDate(from1904 ? days + daysFrom1900To1904 : afterMissingLeapDay(days));
  const rest = seconds % secondsOfDay;
  return format === 'date' && rest === 0 ? date : `${date}T${clock(rest)}`;
}

/** Excel's 1900 date system counts a 29 February 1900 that never existed. */
function afterMissingLeapDay(days: number): number {
  return days < 60 ? days + 1 : days;
}

function isoDate(days: number): string {
  return new Date((days - unixEpoch) * secondsOfDay * 1000).toISOString().slice(0, 10);
}

function clock(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}
