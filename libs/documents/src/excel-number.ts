import { format as formatBy } from 'numfmt';

/** Codes of the built-in number formats (ECMA-376 part 1, 18.8.30) that are no dates. */
const builtIn: Record<number, string> = {
  1: '0',
  2: '0.00',
  3: '#,##0',
  4: '#,##0.00',
  9: '0%',
  10: '0.00%',
  11: '0.00E+00',
  12: '# ?/?',
  13: '# ??/??',
  37: '#,##0;(#,##0)',
  38: '#,##0;(#,##0)',
  39: '#,##0.00;(#,##0.00)',
  40: '#,##0.00;(#,##0.00)',
  41: '_(* #,##0_);_(* (#,##0);_(* "-"_);_(@_)',
  42: '_($* #,##0_);_($* (#,##0);_($* "-"_);_(@_)',
  43: '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)',
  44: '_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)',
  45: 'mm:ss',
  46: '[h]:mm:ss',
  47: 'mm:ss.0',
  48: '##0.0E+0',
};
/** Built-in formats of dates and times, including the East Asian ones. */
const builtInTimes: [from: number, to: number, format: string][] = [
  [14, 17, 'yyyy-mm-dd'],
  [18, 21, 'hh:mm:ss'],
  [22, 22, 'yyyy-mm-dd hh:mm:ss'],
  [27, 31, 'yyyy-mm-dd'],
  [32, 35, 'hh:mm:ss'],
  [36, 36, 'yyyy-mm-dd'],
  [50, 54, 'yyyy-mm-dd'],
  [55, 56, 'hh:mm:ss'],
  [57, 58, 'yyyy-mm-dd'],
];
const general = 'General';
/** As in Excel, which refuses longer ones: a hostile one must not take time with each cell. */
const longestFormat = 255;

const secondsOfDay = 86_400;
const unixEpoch = 25_569;
const daysFrom1900To1904 = 1_462;
/** Serial number of 9999-12-31. */
const lastDay = 2_958_465;
const significantDigits = 15;

export interface NumberFormat {
  code: string;
  /** Whole dates and times of the day are written in ISO 8601; partial dates and durations as the sheet shows them. */
  iso?: 'date' | 'dateTime' | 'time';
  /** Days are counted from 1900 or 1904. */
  isDate: boolean;
  /** Whether texts get more text, as in `"No. "@`. */
  changesText: boolean;
}

export function builtInFormat(id: number): NumberFormat {
  return formatOf(builtIn[id] ?? builtInTimes.find(([from, to]) => id >= from && id <= to)?.[2] ?? general);
}

export function formatOf(code: string): NumberFormat {
  if (code.length > longestFormat) return { code: general, isDate: false, changesText: false };
  const section = code.replace(/"[^"]*"|\\.|[_*]./g, '').split(';', 1)[0]!;
  const letters = section.replace(/\[(?![hms]+\])[^\]]*\]|general|am\/pm|a\/p/gi, '').toLowerCase();
  const hasClock = /[hs]/.test(letters);
  const isDate = /[yd]/.test(letters) || (letters.includes('m') && !hasClock);
  const isWhole = /[yg]/.test(letters) && letters.includes('m') && letters.includes('d');
  const isClock = hasClock && letters.includes('h') && !letters.includes('[');
  return {
    code: isDate ? code : withoutLocales(code),
    iso: isDate ? (isWhole ? (hasClock ? 'dateTime' : 'date') : undefined) : isClock ? 'time' : undefined,
    isDate,
    changesText: code.includes('@') && code !== '@',
  };
}

/** Excel shows the currency of such a format, but separators of the reader's own language. */
function withoutLocales(code: string): string {
  return code.replace(/\[\$([^\]-]*)-[^\]]*\]/g, (_, currency: string) => (currency === '' ? '' : `[$${currency}]`));
}

/** Text of a number cell as the sheet shows it, without binary rounding digits. */
export function numberText(
  value: string,
  format: NumberFormat | undefined,
  { from1904 }: { from1904: boolean },
): string {
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number)) return value;
  if (format === undefined || /^(?:general|@)?$/i.test(format.code)) return plainNumber(number);
  const { iso, isDate } = format;
  if ((isDate || iso) && (number < 0 || number > lastDay)) return plainNumber(number);
  if (!iso) return formatted(isDate && from1904 ? number + daysFrom1900To1904 : number, format) ?? plainNumber(number);
  const seconds = Math.round(number * secondsOfDay);
  if (iso === 'time') return clock(seconds % secondsOfDay);
  const days = Math.floor(seconds / secondsOfDay);
  const date = isoDate(from1904 ? days + daysFrom1900To1904 : afterMissingLeapDay(days));
  const rest = seconds % secondsOfDay;
  return iso === 'date' && rest === 0 ? date : `${date}T${clock(rest)}`;
}

/** Text of a number without a format. */
export function generalNumber(value: string): string {
  return numberText(value, undefined, { from1904: false });
}

/** Text of a number in a document that is no workbook, as in the data of a chart. */
export function formattedNumber(value: string, code: string): string {
  return numberText(value, formatOf(code), { from1904: false });
}

/** Text of a text cell. */
export function formattedText(text: string, format: NumberFormat | undefined): string {
  return format?.changesText ? (formatted(text, format) ?? text) : text;
}

/** Undefined for a format that cannot be read. */
function formatted(value: number | string, { code }: NumberFormat): string | undefined {
  try {
    const text = formatBy(code, value, { locale: 'en-US' });
    return text.replace(/\s+/g, ' ').trim();
  } catch {
    return undefined;
  }
}

function plainNumber(number: number): string {
  return String(Number(number.toPrecision(significantDigits)));
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
