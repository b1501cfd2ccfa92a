import type { ColumnKind } from './columns';

const minuteMs = 60_000;

/** Value as the text of its editor: a date in the zone of the reader, JSON indented, empty for no value. */
export function toText(kind: ColumnKind, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (kind === 'date' && typeof value === 'string') return toLocal(value);
  return typeof value === 'string' && kind !== 'json' ? value : JSON.stringify(value, null, 2);
}

/** Value of the text of an editor; null for an empty one. Throws an error that says which text would be right. */
export function toValue(kind: ColumnKind, text: string): unknown {
  if (text === '') return null;
  switch (kind) {
    case 'text':
      return text;
    case 'boolean':
      return text === 'true';
    case 'number':
      return toNumber(text);
    case 'date':
      return toTime(text);
    case 'json':
      return toJson(text);
  }
}

function toNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new Error('Write a number, such as 12 or 0.5.');
  return value;
}

function toTime(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new Error('Write a date and a time.');
  return time.toISOString();
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Error('Write JSON, such as {"name": "value"} or ["first", "second"].');
  }
}

/** Time as `datetime-local` has it. */
function toLocal(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  return new Date(date.getTime() - date.getTimezoneOffset() * minuteMs).toISOString().slice(0, 19);
}
