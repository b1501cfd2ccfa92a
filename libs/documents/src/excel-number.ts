/** How a number format shows its value, as far as it is a time. */
export type TimeFormat = 'date' | 'dateTime' | 'time' | undefined;

/** Formats that every workbook has without declaring them (ECMA-376 part 1, 18.8.30), with those of East Asia. */
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
/** Serial number of 1970-01-01, which is 25,569 days after Excel's day zero. */
const unixEpoch = 25_569;
const daysFrom1900To1904 = 1_462;
/** The last day of the year 9999. */
const lastDay = 2_958_465;

export function builtInFormat(id: number): TimeFormat {
  return builtIn.find(([from, to]) => id >= from && id <= to)?.[2];
}

/** Of a format code such as `yyyy\-mm\-dd hh:mm`. */
export function timeFormatOf(code: string): TimeFormat {
  const section = code.replace(/"[^"]*"|\\.|[_*]./g, '').split(';', 1)[0]!;
  const letters = section.replace(/\[(?![hms]+\])[^\]]*\]|general|am\/pm|a\/p/gi, '').toLowerCase();
  const hasTime = /[hs]/.test(letters);
  if (/[yd]/.test(letters) || (letters.includes('m') && !hasTime)) return hasTime ? 'dateTime' : 'date';
  return hasTime ? 'time' : undefined;
}

/** Numbers as they are, without the digits that binary fractions add; times as in ISO 8601. */
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

/** Excel counts 29 February 1900, a day that never was. */
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
