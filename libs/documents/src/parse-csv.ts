import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { type Block, UnreadableDocument } from './block';
import { mostTextCharacters } from './limits';
import { lines } from './lines';

const delimiters = [',', ';', '\t', '|'];
const noDelimiter = '\x1f';
const delimiterLine = /^sep=([^"\n])\n/i;
/** Characters used for delimiter detection. */
const sampleLength = 64_000;
/** Characters per table block. A longer table continues in a new block with the same header. */
const longestTable = 500_000;

/**
 * CSV parser. The first row is the header unless it contains a number. Cells may contain line ends; rows may have any
 * number of cells. The delimiter is the one declared by a `sep=` line, or the likeliest.
 */
export async function* parseCsv(slices: Iterable<string>): AsyncGenerator<Block> {
  const { sample, all } = peek(slices);
  const stated = delimiterLine.exec(sample)?.[1];
  const parser = parse({
    delimiter: stated ?? likeliestDelimiter(sample),
    from_line: stated ? 2 : 1,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: mostTextCharacters,
  });
  yield* tablesOf(Readable.from(all).pipe(parser) as AsyncIterable<string[]>);
}

/**
 * TSV parser: each line is a row. TSV has no quoting, but Excel quotes some cells, so quotes count only when they
 * enclose a whole cell on one line. All other quotes are ordinary characters.
 */
export async function* parseTsv(slices: Iterable<string>): AsyncGenerator<Block> {
  const { sample, all } = peek(slices);
  yield* delimiterLine.test(sample) ? parseCsv(all) : tablesOf(tabbedRecords(all));
}

function* tabbedRecords(slices: Iterable<string>): Generator<string[]> {
  for (const line of lines(slices, mostTextCharacters)) yield cellsOf(line);
}

function cellsOf(line: string): string[] {
  if (!line.includes('"')) return line.split('\t');
  const cells: string[] = [];
  for (let start = 0; start <= line.length;) {
    const quote = closingQuote(line, start);
    const tab = line.indexOf('\t', quote ?? start);
    const end = tab < 0 ? line.length : tab;
    cells.push(quote === undefined ? line.slice(start, end) : line.slice(start + 1, quote).replaceAll('""', '"'));
    start = end + 1;
  }
  return cells;
}

function closingQuote(line: string, start: number): number | undefined {
  if (line[start] !== '"') return undefined;
  let quote = line.indexOf('"', start + 1);
  while (quote > 0 && line[quote + 1] === '"') quote = line.indexOf('"', quote + 2);
  return quote > 0 && [undefined, '\t'].includes(line[quote + 1]) ? quote : undefined;
}

async function* tablesOf(records: AsyncIterable<string[]> | Iterable<string[]>): AsyncGenerator<Block> {
  let header: string[] | undefined;
  let rows: string[] = [];
  let length = 0;
  const table = (): Block => ({ type: 'table', text: rows.join('\n'), headerLines: header?.length ?? 0 });

  try {
    for await (const record of records) {
      const row = rowOf(record);
      if (row === '') continue;
      header ??= record.some(isNumber) ? [] : [row];
      rows.push(row);
      length += row.length;
      if (length <= longestTable) continue;
      yield table();
      rows = [...header];
      length = 0;
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new UnreadableDocument(
      `The cells cannot be separated: a quote near the end of line ${lineOf(error)} is never closed. ` +
        'Save the table as CSV with quotes doubled inside of cells, and upload it again.',
    );
  }
  if (rows.length > (length === 0 ? (header?.length ?? 0) : 0)) yield table();
}

/**
 * Delimiter detection: the delimiter with the most lines that have as many cells as the first line, or, when the first
 * line has no delimiter (a caption), as most other lines. No delimiter when that is less than half of the lines
 * (prose).
 */
export function likeliestDelimiter(sample: string): string {
  const lines = sample
    .replace(/"(?:[^"]|"")*"/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, 50);
  const isTitled = !delimiters.some((delimiter) => lines[0]?.includes(delimiter));
  const evenness = (delimiter: string) => {
    const counts = lines.map((line) => line.split(delimiter).length - 1);
    const usual = isTitled ? commonest(counts.filter((count) => count > 0)) : (counts[0] ?? 0);
    return { delimiter, usual, lines: usual > 0 ? counts.filter((count) => count === usual).length : 0 };
  };
  const [best] = delimiters.map(evenness).toSorted((a, b) => b.lines - a.lines || b.usual - a.usual);
  return isTitled && best!.lines * 2 <= lines.length ? noDelimiter : best!.delimiter;
}

function commonest(counts: number[]): number {
  const times = new Map<number, number>();
  for (const count of counts) times.set(count, (times.get(count) ?? 0) + 1);
  return [...times].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? 0;
}

function peek(slices: Iterable<string>): { sample: string; all: Iterable<string> } {
  const iterator = slices[Symbol.iterator]();
  const first = iterator.next();
  const start = first.done ? '' : first.value;
  function* all() {
    if (start !== '') yield start;
    for (let next = iterator.next(); !next.done; next = iterator.next()) if (next.value !== '') yield next.value;
  }
  return { sample: start.slice(0, sampleLength), all: all() };
}

function rowOf(record: string[]): string {
  const cells = record.map((cell) => cell.replace(/\s+/g, ' ').trim());
  return cells.every((cell) => cell === '') ? '' : cells.join(' | ').trim();
}

function isNumber(cell: string): boolean {
  return /^[-+]?[\d.,]*\d\s*%?$/.test(cell.trim());
}

function lineOf(error: CsvError): number {
  return (error as CsvError & { lines?: number }).lines ?? 0;
}
