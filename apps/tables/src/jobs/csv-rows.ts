import { pipeline, Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { type IgnoredColumns, maxRowCharacters, type ReadColumns, type ReadRow, tooLong } from './read-row';
import { UnreadableFile } from './unreadable-file';

/** What the parser gives: a record, or why one was left out, each with the line that it ends in. */
type Parsed = { lines: number } & ({ record: string[] } | { code: string });

interface Cell {
  place: number;
  name: string;
  type: string;
}

/** Rows of comma-separated values whose first line names the columns. An empty cell gives no value. */
export async function* readCsv(
  text: AsyncIterable<string>,
  columns: ReadColumns,
  ignored: IgnoredColumns,
): AsyncIterable<ReadRow> {
  let header: { cells: Cell[]; width: number } | undefined;
  let line = 1;
  for await (const parsed of parsedRecords(text)) {
    const place = `Line ${line}`;
    line = parsed.lines + 1;
    if ('code' in parsed) {
      const problem = problemOf(parsed.code);
      // Nobody knows where the next row begins.
      if (!header || parsed.code === 'CSV_MAX_RECORD_SIZE') throw new UnreadableFile(`${place} ${problem}`);
      yield { place, problem };
      continue;
    }
    const { record } = parsed;
    if (!header) header = { cells: readHeader(record, columns, ignored), width: record.length };
    else if (record.length > header.width) {
      yield { place, problem: `has ${record.length} cells, but the header only ${header.width}.` };
    } else yield { place, row: readRecord(record, header.cells) };
  }
}

/** Takes time in proportion to the text. */
const numberPattern = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i;
/** No number has more, written with all of its digits. */
const maxNumberLength = 400;

const quoteAdvice = 'Is there a quotation mark that opens a cell and is not closed?';

function problemOf(code: string): string {
  switch (code) {
    case 'CSV_MAX_RECORD_SIZE':
      return `${tooLong()} ${quoteAdvice}`;
    case 'INVALID_OPENING_QUOTE':
      return 'has a quotation mark inside a cell: put the cell into quotation marks and double those inside.';
    case 'CSV_INVALID_CLOSING_QUOTE':
      return 'has a quotation mark inside a quoted cell: double it. What follows up to the next one was left out too.';
    default:
      return `cannot be read. ${quoteAdvice}`;
  }
}

function parsedRecords(text: AsyncIterable<string>): AsyncIterable<Parsed> {
  const parser = parse({
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: maxRowCharacters,
    on_record: (record: string[], { lines }) => ({ record, lines }) as unknown as string[],
    // In between the records, so that each has its place in the order whenever it is read.
    on_skip: (error) => void parser.push({ code: error!.code, lines: parser.info.lines }),
  });
  // Whoever reads the records is told of a failure of the source by the parser.
  return pipeline(Readable.from(text), parser, () => undefined) as AsyncIterable<Parsed>;
}

function readHeader(record: string[], columns: ReadColumns, ignored: IgnoredColumns): Cell[] {
  const names = record.map((name) => name.trim());
  const cells = names.flatMap((name, place) => {
    const column = columns.get(name);
    if (!column) ignored.add(name);
    return column ? [{ place, name, type: column.schema.type }] : [];
  });
  const twice = cells.find(({ name, place }) => names.indexOf(name) !== place);
  if (twice) throw new UnreadableFile(`The first line names the column ${twice.name} twice.`);
  if (cells.length === 0) {
    throw new UnreadableFile(
      `The first line names no column of this table. It must hold names such as ${[...columns.keys()].slice(0, 3).join(', ')}, separated by commas.`,
    );
  }
  return cells;
}

function readRecord(record: string[], cells: Cell[]): Record<string, unknown> {
  const values: [string, unknown][] = [];
  for (const { place, name, type } of cells) {
    const text = record[place] ?? '';
    if (text !== '') values.push([name, readCell(text, type)]);
  }
  return Object.fromEntries(values);
}

/** What does not look like a value of its type stays text: who checks the row says what is wrong with it. */
function readCell(text: string, type: string): unknown {
  switch (type) {
    case 'number':
      return text.length <= maxNumberLength && numberPattern.test(text) ? Number(text) : text;
    case 'boolean':
      return { true: true, false: false }[text.trim().toLowerCase()] ?? text;
    case 'object':
    case 'array':
      return readJson(text);
    default:
      return text;
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
