import type { Block } from './block';
import { BlockWriter } from './block-writer';

interface Property {
  name: string;
  parameters: Record<string, string>;
  value: string;
}

const entries = /^(?:VEVENT|VTODO|VJOURNAL)$/;
/** A property of iCalendar: name, parameters whose values may be quoted, and a value. */
const property = /^([\w-]+)((?:;[\w-]+=(?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*)*):(.*)$/s;
const labels: [string, string][] = [
  ['DTSTART', 'Start'],
  ['DTEND', 'End'],
  ['DURATION', 'Duration'],
  ['DUE', 'Due'],
  ['RRULE', 'Repeats'],
  ['LOCATION', 'Place'],
  ['ORGANIZER', 'Organiser'],
  ['ATTENDEE', 'Attendees'],
  ['STATUS', 'Status'],
  ['URL', 'Link'],
];

/** iCalendar (.ics and invitations): for each event its summary, times, place, people and description. Alarms are left out. */
export function parseCalendar(text: string, level = 1): Block[] {
  const writer = new BlockWriter();
  const open: string[] = [];
  let entry: Property[] = [];
  for (const line of unfolded(text)) {
    const found = propertyOf(line);
    if (!found) continue;
    const value = found.value.trim().toUpperCase();
    if (found.name === 'BEGIN') {
      open.push(value);
      if (entries.test(value)) entry = [];
    } else if (found.name === 'END') {
      if (entries.test(value)) writeEntry(writer, entry, level);
      open.pop();
    } else if (entries.test(open.at(-1) ?? '')) entry.push(found);
  }
  return writer.blocks();
}

function writeEntry(writer: BlockWriter, entry: Property[], level: number): void {
  const valuesOf = (name: string) =>
    entry
      .filter((one) => one.name === name)
      .map(readable)
      .filter(Boolean);
  writer.heading(level, valuesOf('SUMMARY').join(' '));
  const lines = labels.flatMap(([name, label]) => {
    const values = valuesOf(name);
    return values.length > 0 ? [`${label}: ${values.join(', ')}`] : [];
  });
  writer.write({ type: 'paragraph', text: lines.join('\n') });
  for (const text of [...valuesOf('DESCRIPTION'), ...valuesOf('COMMENT')]) writer.write({ type: 'paragraph', text });
}

function readable({ name, parameters, value }: Property): string {
  if (/^(?:DTSTART|DTEND|DUE)$/.test(name)) return timeOf(value, parameters.TZID);
  if (name === 'RRULE') return value.toLowerCase().replaceAll(';', ', ').replaceAll('=', ' ');
  if (name === 'STATUS') return value.toLowerCase();
  if (name !== 'ORGANIZER' && name !== 'ATTENDEE') return unescaped(value).trim();
  const address = value.replace(/^mailto:/i, '').trim();
  return parameters.CN && parameters.CN !== address ? `${parameters.CN} <${address}>` : address;
}

/** `20250301T090000Z` as `2025-03-01 09:00 UTC`. Times without a zone are those of the place. */
function timeOf(value: string, zone?: string): string {
  const found = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z)?)?$/.exec(value.trim());
  if (!found) return value.trim();
  const [, year, month, day, hour, minute, , utc] = found;
  const time = hour ? ` ${hour}:${minute}${utc ? ' UTC' : zone ? ` (${zone})` : ''}` : '';
  return `${year}-${month}-${day}${time}`;
}

function propertyOf(line: string): Property | undefined {
  const found = property.exec(line);
  if (!found) return undefined;
  const [, name = '', list = '', value = ''] = found;
  const parameters = Object.fromEntries(
    Array.from(list.matchAll(/;([\w-]+)=("[^"]*"|[^";:]*)/g), ([, key = '', text = '']) => [
      key.toUpperCase(),
      text.replaceAll('"', ''),
    ]),
  );
  return { name: name.toUpperCase(), parameters, value };
}

/** Long lines are folded: their next lines begin with a space. */
function unfolded(text: string): string[] {
  return text.replace(/\r?\n[ \t]/g, '').split(/\r?\n/);
}

function unescaped(value: string): string {
  return value.replace(/\\([nN;,\\])/g, (_, character: string) => (/n/i.test(character) ? '\n' : character));
}
