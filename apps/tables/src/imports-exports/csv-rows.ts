import { pipeline, Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { toUtcOfDate } from '../schema/date-time';
import { peekStart } from './peek-start';
import {
  type IgnoredColumns,
  maxRowCharacters,
  type ReadColumns,
  type ReadRow,
  tooLong,
  UnreadableFile,
} from './read-row';

/** Output of the parser: a record, or the error code of a skipped one, with the number of its last line. */
type Parsed = { lines: number } & ({ record: string[] } | { code: string });

type Column = ReadColumns extends ReadonlyMap<string, infer Value> ? Value : never;

interface Cell {
  index: number;
  name: string;
  schema: Column['schema'];
}

const delimiters = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' };
/** First line of a spreadsheet that declares the delimiter of the lines after it. */
const delimiterLine = /^sep=([^"\r\n])[\r\n]/i;

/**
 * CSV with column names in the first line, or in the second one after `sep=`. Empty cells have no value. The delimiter is the
 * declared one, else the one by which the header names most columns of the table.
 */
export async function* readCsv(
  text: AsyncIterable<string>,
  columns: ReadColumns,
  ignored: IgnoredColumns,
): AsyncIterable<ReadRow> {
  const { start, all } = await peekStart(text, {
    nothing: '',
    join: (known, next) => known + next,
    isEnough: (known) => known.length > maxRowCharacters || /[^\r\n][\r\n]/.test(known),
  });
  const declared = delimiterLine.exec(start)?.[1];
  const delimiter = declared ?? likeliestDelimiter(start, columns);
  let header: { cells: Cell[]; width: number } | undefined;
  let line = declared ? 2 : 1;
  for await (const parsed of parsedRecords(all, delimiter, line)) {
    const location = `Line ${line}`;
    line = parsed.lines + 1;
    if ('code' in parsed) {
      const problem = problemOf(parsed.code);
      // The start of the next row is unknown.
      if (!header || parsed.code === 'CSV_MAX_RECORD_SIZE') throw new UnreadableFile(`${location} ${problem}`);
      yield { location, problem };
      continue;
    }
    const { record } = parsed;
    if (!header) {
      const cells = readHeader(record, columns, ignored);
      if (cells.length === 0) throw new UnreadableFile(noColumn(columns, declared));
      header = { cells, width: record.length };
    } else if (record.length > header.width) {
      yield { location, problem: `has ${record.length} cells, but the header has ${header.width}.` };
    } else yield { location, row: readRecord(record, header.cells) };
  }
}

/**
 * Characters that are parsed in one turn of the event loop. The parser takes some 30 µs for each row with another number of
 * cells than the first one.
 */
const maxPieceLength = 4_096;

/** Matches in linear time. */
const numberPattern = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i;
/** No number needs more characters, even without an exponent. */
const maxNumberLength = 400;

const quoteAdvice = 'Is a quotation mark at the start of a cell not closed?';

function problemOf(code: string): string {
  switch (code) {
    case 'CSV_MAX_RECORD_SIZE':
      return `${tooLong()} ${quoteAdvice}`;
    case 'INVALID_OPENING_QUOTE':
      return 'has a quotation mark inside a cell: put the cell into quotation marks and double those inside.';
    case 'CSV_INVALID_CLOSING_QUOTE':
      return 'has a quotation mark inside a quoted cell: double it. The text up to the next quotation mark was skipped as well.';
    default:
      return `cannot be read. ${quoteAdvice}`;
  }
}

function parsedRecords(text: AsyncIterable<string>, delimiter: string, firstLine: number): AsyncIterable<Parsed> {
  const parser = parse({
    delimiter,
    from_line: firstLine,
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    max_record_size: maxRowCharacters,
    on_record: (record: string[], { lines }) => ({ record, lines }) as unknown as string[],
    // Skipped records go into the output stream to keep their position among the records.
    on_skip: (error) => void parser.push({ code: error!.code, lines: parser.info.lines }),
  });
  // The parser reports a failure of the source to its reader.
  return pipeline(Readable.from(pieces(text)), parser, () => undefined) as AsyncIterable<Parsed>;
}

async function* pieces(text: AsyncIterable<string>): AsyncIterable<string> {
  for await (const chunk of text) {
    for (let start = 0, end; start < chunk.length; start = end) {
      end = start + maxPieceLength;
      // The parser encodes each piece by itself, so none may end within a surrogate pair.
      if (isHighSurrogate(chunk.charCodeAt(end - 1))) end -= 1;
      yield chunk.slice(start, end);
    }
  }
}

function likeliestDelimiter(start: string, columns: ReadColumns): string {
  const [line = ''] = start.replace(/^[\r\n]+/, '').split(/[\r\n]/, 1);
  const named = Object.keys(delimiters).map((delimiter) => {
    const names = line.split(delimiter).map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'));
    return { delimiter, columns: columnNames(names, columns).filter((name) => name !== undefined).length };
  });
  return named.reduce((best, other) => (other.columns > best.columns ? other : best)).delimiter;
}

function readHeader(record: string[], columns: ReadColumns, ignored: IgnoredColumns): Cell[] {
  const names = columnNames(record, columns);
  const cells = names.flatMap((name, index) => {
    if (name === undefined) ignored.add(record[index]!.trim());
    return name === undefined ? [] : [{ index, name, schema: columns.get(name)!.schema }];
  });
  const twice = cells.find(({ name, index }) => names.indexOf(name) !== index);
  if (twice) throw new UnreadableFile(`The first line has the column ${twice.name} twice. Name each column once.`);
  return cells;
}

/** Column of each cell of the header: the one of exactly that name, else the only one that differs in case alone. */
function columnNames(cells: string[], columns: ReadColumns): (string | undefined)[] {
  const names = cells.map((cell) => cell.trim());
  const others = Map.groupBy(
    [...columns.keys()].filter((name) => !names.includes(name)),
    (name) => name.toLowerCase(),
  );
  return names.map((name) => {
    if (columns.has(name)) return name;
    const [other, another] = others.get(name.toLowerCase()) ?? [];
    return another === undefined ? other : undefined;
  });
}

function noColumn(columns: ReadColumns, declared: string | undefined): string {
  const separators = declared === undefined ? Object.values(delimiters).join(', ') : `"${declared}"`;
  return `The header names no column of this table. It must contain column names such as ${[...columns.keys()].slice(0, 3).join(', ')}, separated by ${separators}.`;
}

function readRecord(record: string[], cells: Cell[]): Record<string, unknown> {
  const values: [string, unknown][] = [];
  for (const { index, name, schema } of cells) {
    const text = record[index] ?? '';
    if (text !== '') values.push([name, readCell(text, schema)]);
  }
  return Object.fromEntries(values);
}

/** Text that does not match the type stays text: the row check reports it. */
function readCell(text: string, { type, format }: Cell['schema']): unknown {
  switch (type) {
    case 'number':
      return text.length <= maxNumberLength && numberPattern.test(text) ? Number(text) : text;
    case 'boolean':
      return { true: true, false: false }[text.trim().toLowerCase()] ?? text;
    case 'object':
    case 'array':
      return readJson(text);
    default:
      return format === 'date-time' ? (toUtcOfDate(text.trim()) ?? text) : text;
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
