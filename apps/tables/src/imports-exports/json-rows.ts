import {
  type IgnoredColumns,
  maxRowCharacters,
  type ReadColumns,
  type ReadRow,
  tooLong,
  UnreadableFile,
} from './read-row';

/** Text of one value; undefined when it exceeds the limit. */
interface RawRow {
  location: string;
  text: string | undefined;
}

const quote = 0x22;
const backslash = 0x5c;
const newline = 0x0a;
const comma = 0x2c;

/** JSON Lines: one object per line. Skips empty lines. */
export async function* readJsonLines(
  text: AsyncIterable<string>,
  columns: ReadColumns,
  ignored: IgnoredColumns,
): AsyncIterable<ReadRow> {
  for await (const raw of linesOf(text)) {
    if (raw.text !== '') yield readRow(raw, columns, ignored);
  }
}

/** Objects in one array. Reports an invalid element and continues after its comma. */
export async function* readJsonArray(
  text: AsyncIterable<string>,
  columns: ReadColumns,
  ignored: IgnoredColumns,
): AsyncIterable<ReadRow> {
  for await (const raw of elementsOf(text)) yield readRow(raw, columns, ignored);
}

function readRow({ location, text }: RawRow, columns: ReadColumns, ignored: IgnoredColumns): ReadRow {
  if (text === undefined) return { location, problem: tooLong() };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { location, problem: `is not valid JSON: ${(error as Error).message.slice(0, 200)}.` };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { location, problem: 'must be an object with a value for each column.' };
  }
  const row: [string, unknown][] = [];
  for (const [name, cell] of Object.entries(value)) {
    if (columns.has(name)) row.push([name, cell]);
    else ignored.add(name);
  }
  return { location, row: Object.fromEntries(row) };
}

class RowText {
  private text = '';
  private isTooLong = false;

  add(part: string): void {
    this.isTooLong ||= this.text.length + part.length > maxRowCharacters;
    this.text = this.isTooLong ? '' : this.text + part;
  }

  take(): string | undefined {
    const taken = this.isTooLong ? undefined : this.text.trim();
    this.text = '';
    this.isTooLong = false;
    return taken;
  }
}

async function* linesOf(chunks: AsyncIterable<string>): AsyncIterable<RawRow> {
  const row = new RowText();
  let line = 1;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', start)) {
      row.add(chunk.slice(start, end));
      yield { location: `Line ${line}`, text: row.take() };
      start = end + 1;
      line += 1;
    }
    row.add(chunk.slice(start));
  }
  yield { location: `Line ${line}`, text: row.take() };
}

/** Streaming tokenizer: splits an array into the texts of its elements by brackets, quotes and commas only. */
async function* elementsOf(chunks: AsyncIterable<string>): AsyncIterable<RawRow> {
  const row = new RowText();
  let depth = 0;
  let isInText = false;
  let isEscaped = false;
  let isOver = false;
  let line = 1;
  let elements = 0;
  const taken = (): RawRow => ({ location: `Row ${++elements} (up to line ${line})`, text: row.take() });

  for await (const chunk of chunks) {
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const sign = chunk.charCodeAt(at);
      if (sign === newline) line += 1;
      if (isEscaped) isEscaped = false;
      else if (isInText) {
        if (sign === backslash) isEscaped = true;
        else if (sign === quote) isInText = false;
      } else if (isOver) {
        if (chunk[at]!.trim() !== '')
          throw new UnreadableFile(`Unexpected text after the end of the array in line ${line}: remove it.`);
      } else if (sign === quote) isInText = true;
      else if (isOpening(sign)) {
        depth += 1;
        if (depth === 1) start = at + 1;
      } else if (sign === comma && depth === 1) {
        row.add(chunk.slice(start, at));
        yield taken();
        start = at + 1;
      } else if (isClosing(sign)) {
        depth -= 1;
        if (depth > 0) continue;
        isOver = true;
        row.add(chunk.slice(start, at));
        const last = taken();
        if (last.text !== '') yield last;
      }
    }
    if (!isOver && depth > 0) row.add(chunk.slice(start));
  }
  if (!isOver)
    throw new UnreadableFile(`The array is not closed: the file ends after row ${elements}. Upload the complete file.`);
}

function isOpening(sign: number): boolean {
  return sign === 0x5b || sign === 0x7b;
}

function isClosing(sign: number): boolean {
  return sign === 0x5d || sign === 0x7d;
}
