import { type Aim, type CpuShare, isMet, type Result, type Row } from './result';

export function printed({ title, rows, aims, errors, notes }: Result): string {
  return [
    title,
    '',
    ...grid(rows),
    '',
    ...aims.map(aimLine),
    ...notes.map((note) => `  ${note}`),
    ...errors.map((error) => `  ERROR  ${error}`),
    '',
  ].join('\n');
}

function grid(rows: Row[]): string[] {
  const columns = [...new Set(rows.flatMap(({ figures }) => Object.keys(figures)))];
  const cells = rows.map(({ figures }) => columns.map((column) => formatted(figures[column])));
  const nameWidth = Math.max(...rows.map(({ name }) => name.length));
  const widths = columns.map((column, i) => Math.max(column.length, ...cells.map((row) => row[i]!.length)));
  const line = (name: string, row: string[]) =>
    `  ${name.padEnd(nameWidth)}  ${row.map((cell, i) => cell.padStart(widths[i]!)).join('  ')}`;
  return [
    line('', columns),
    ...rows.flatMap(({ name, cpu }, i) => [line(name, cells[i]!), ...(cpu ? [`      ${cpuLine(cpu)}`] : [])]),
  ];
}

function cpuLine({ per, us }: CpuShare): string {
  const layers = Object.entries(us).map(([layer, used]) => `${layer} ${Math.round(used).toLocaleString('en-US')}`);
  return `processor time in µs a ${per}: ${layers.join(', ') || 'not available on this platform'}`;
}

function aimLine(aim: Aim): string {
  const { name, value, spread, unit = '', atLeast, below, ambition } = aim;
  const range = spread ? ` (${spread.map(formatted).join(' to ')})` : '';
  const clauses = [
    atLeast === undefined ? '' : `at least ${atLeast}${unit}`,
    below === undefined ? '' : `below ${below}${unit}`,
    ambition === undefined ? '' : `ambition ${ambition}${unit}`,
  ];
  const aimed = clauses.filter(Boolean);
  const verdict = aimed.length > 0 ? `  aim: ${aimed.join(', ')}: ${isMet(aim) ? 'met' : 'MISSED'}` : '';
  return `  ${name}  ${formatted(value)}${unit}${range}${verdict}`;
}

/** Three significant digits with thousands separators. */
export function formatted(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return '–';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 0.01))));
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
