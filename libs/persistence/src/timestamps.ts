import { types } from 'pg';

const { TIMESTAMPTZ } = types.builtins;
const readTimestamp = types.getTypeParser(TIMESTAMPTZ, 'text') as (text: string) => Date | number;

/** Time in ISO 8601 of a column that is a Date or, read as text, has that form already. */
export function isoTime(time: Date | string): string {
  return typeof time === 'string' ? time : time.toISOString();
}

/**
 * A page of a list has dozens of timestamps. The default parser matches a regular expression; V8 reads ISO 8601 in half
 * the time. Others, such as `infinity` and those of another time zone, are left to the default.
 */
export function parseTimestamp(text: string): Date | number {
  return isUtc(text) ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`) : readTimestamp(text);
}

/** Cuts the text of Postgres, `2026-11-26 13:00:50.123+00`, which ends without zeros: a tenth of the time of a Date. */
export function toIsoText(text: string): string {
  if (text.length <= 26 && isUtc(text))
    return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(3, '0')}Z`;
  return new Date(parseTimestamp(text)).toISOString();
}

function isUtc(text: string): boolean {
  return text[4] === '-' && text.endsWith('+00');
}
