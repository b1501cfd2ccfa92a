import { UnreadableDocument } from './block';
import { codePageOfCharset, decodeCodePage } from './code-page';
import { openOffice } from './compound-file';
import { damaged, protectedByPassword } from './zip';

const word97 = 0xc1;
const pageBytes = 512;
const tablesAt = 154;
/** Indices of tables in the head of the document (MS-DOC, FibRgFcLcb97). */
const table = {
  styles: 1,
  footnoteRefs: 2,
  footnoteTexts: 3,
  commentRefs: 4,
  commentTexts: 5,
  headers: 11,
  characterPages: 12,
  paragraphPages: 13,
  fonts: 15,
  pieces: 33,
  commentAuthors: 36,
  endnoteRefs: 46,
  endnoteTexts: 47,
  lists: 73,
  numberings: 74,
};
export type TableName = keyof typeof table;

/** Parts of the text, one after the other, with the position of their lengths in the head. */
const lengthsAt = { body: 76, footnotes: 80, headers: 84, macros: 88, comments: 92, endnotes: 96, boxes: 100 };
export type Story = keyof typeof lengthsAt;

const property = {
  isDeleted: 0x0800,
  isHidden: 0x083c,
  isSpecial: 0x0855,
  symbol: 0x6a09,
  font: 0x4a4f,
};
const compressed = 0x4000_0000;
/** Code page of texts with a byte for each character. */
const western = 1252;

interface Piece {
  start: number;
  end: number;
  /** Position of the first character in the stream. */
  at: number;
  size: 1 | 2;
}

/** Properties of a run of characters or of a paragraph, as codes with their operands. */
export interface Run {
  start: number;
  end: number;
  properties: Buffer;
}

export interface CharacterRun {
  /** Position in the text. */
  start: number;
  text: string;
  isHidden: boolean;
  isSpecial: boolean;
  /** Font and code of a symbol. */
  symbol?: { font: string; code: number };
}

/** Word document of Word 97 to 2003 (MS-DOC): its text by positions, and the properties of characters and paragraphs. */
export class WordBinary {
  private readonly stream: Buffer;
  private readonly tables: Buffer;
  private readonly pieces: Piece[];
  private readonly characterRuns: RunTable;
  private readonly paragraphRuns: RunTable;
  private readonly fonts: { name: string; charset: number }[];

  constructor(bytes: Buffer) {
    const file = openOffice(bytes, { parts: ['WordDocument'], expected: 'Word document' });
    this.stream = file.get('WordDocument');
    if (this.stream.length < tablesAt) throw damaged('it is truncated');
    if (this.stream.readUInt16LE(2) < word97) {
      throw new UnreadableDocument(
        'The document has the format of Word 95 or older: save it as Word document (.docx), and upload that.',
      );
    }
    const flags = this.stream.readUInt16LE(10);
    if (flags & 0x100) throw new UnreadableDocument(protectedByPassword);
    this.tables = file.get(flags & 0x200 ? '1Table' : '0Table');
    this.pieces = piecesIn(this.table('pieces'), this.stream.length);
    this.characterRuns = new RunTable(this.stream, this.table('characterPages'), 1);
    this.paragraphRuns = new RunTable(this.stream, this.table('paragraphPages'), 13);
    this.fonts = fontsIn(this.table('fonts'));
  }

  table(name: TableName): Buffer {
    const at = tablesAt + table[name] * 8;
    if (at + 8 > this.stream.length) return Buffer.alloc(0);
    const start = this.stream.readUInt32LE(at);
    return this.tables.subarray(start, start + this.stream.readUInt32LE(at + 4));
  }

  /** Table with what follows it: lists have their levels behind their table. */
  tableAndRest(name: TableName): Buffer {
    return this.tables.subarray(this.table(name).byteOffset - this.tables.byteOffset);
  }

  /** Positions of a part of the text. */
  story(name: Story): { start: number; end: number } {
    let start = 0;
    for (const [other, at] of Object.entries(lengthsAt)) {
      const length = this.stream.readUInt32LE(at);
      if (other === name) return { start, end: start + length };
      start += length;
    }
    return { start, end: start };
  }

  /** Characters of a range in runs of equal properties, without deleted ones. */
  *runs(start: number, end: number): Generator<CharacterRun> {
    for (let i = this.pieceIndex(start); i < this.pieces.length && this.pieces[i]!.start < end; i++) {
      const piece = this.pieces[i]!;
      const last = Math.min(end, piece.end);
      for (let position = Math.max(start, piece.start); position < last;) {
        const at = piece.at + (position - piece.start) * piece.size;
        const run = this.characterRuns.find(at);
        const left = Math.ceil((run.end - at) / piece.size);
        const next = Math.min(last, position + Math.max(1, left));
        const found = this.characterRun(
          run,
          position,
          this.stream.subarray(at, at + (next - position) * piece.size),
          piece,
        );
        if (found) yield found;
        position = next;
      }
    }
  }

  /** Properties of the paragraph that ends at this position: the style, then codes with operands. */
  paragraph(position: number): Buffer {
    const piece = this.pieces[this.pieceIndex(position)];
    if (!piece) return Buffer.alloc(0);
    return this.paragraphRuns.find(piece.at + (position - piece.start) * piece.size).properties;
  }

  private characterRun({ properties }: Run, start: number, bytes: Buffer, { size }: Piece): CharacterRun | undefined {
    let [isHidden, isSpecial, page] = [false, false, western];
    let symbol: CharacterRun['symbol'];
    for (const { code, operand } of codesIn(properties)) {
      const isOn = operand[0] === 1 || operand[0] === 0x81;
      if (code === property.isDeleted && isOn) return undefined;
      if (code === property.isHidden) isHidden = isOn;
      else if (code === property.isSpecial) isSpecial = isOn;
      else if (code === property.symbol) {
        symbol = { font: this.fonts[operand.readUInt16LE(0)]?.name ?? '', code: operand.readUInt16LE(2) };
      } else if (code === property.font) page = singleBytePage(this.fonts[operand.readUInt16LE(0)]?.charset);
    }
    const text = size === 2 ? bytes.toString('utf16le') : decodeCodePage(bytes, page);
    return { start, text, isHidden, isSpecial, ...(symbol && { symbol }) };
  }

  /** Index of the piece that has this position, by binary search. */
  private pieceIndex(position: number): number {
    let [low, high] = [0, this.pieces.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.pieces[middle]!.end > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Asian fonts say nothing about characters of one byte. */
function singleBytePage(charset: number | undefined): number {
  const page = charset === undefined ? undefined : codePageOfCharset(charset);
  return page !== undefined && page >= 1250 && page <= 1258 ? page : western;
}

/** Runs by their positions in the stream, in pages of 512 bytes that are read when they are asked for. */
class RunTable {
  private readonly starts: number[] = [];
  private readonly numbers: number[] = [];
  private readonly pages = new Map<number, Run[]>();

  constructor(
    private readonly stream: Buffer,
    pages: Buffer,
    private readonly entryBytes: 1 | 13,
  ) {
    const count = Math.max(0, Math.floor((pages.length - 4) / 8));
    for (let i = 0; i < count; i++) {
      this.starts.push(pages.readUInt32LE(4 * i));
      this.numbers.push(pages.readUInt32LE(4 * (count + 1) + 4 * i) & 0x3f_ffff);
    }
  }

  /** Run with this position; without properties where there is none. */
  find(at: number): Run {
    let [low, high] = [0, this.starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.starts[middle]! > at) high = middle;
      else low = middle + 1;
    }
    const nothing = { start: at, end: this.starts[low] ?? Infinity, properties: Buffer.alloc(0) };
    const number = this.numbers[low - 1];
    if (number === undefined) return nothing;
    const page = this.page(number);
    const found = page.find(({ start, end }) => at >= start && at < end);
    if (found) return found;
    const next = page.find(({ start }) => start > at);
    return { ...nothing, end: Math.max(at + 1, Math.min(nothing.end, next?.start ?? Infinity)) };
  }

  private page(number: number): Run[] {
    let runs = this.pages.get(number);
    if (!runs) this.pages.set(number, (runs = this.readPage(number * pageBytes)));
    return runs;
  }

  private readPage(at: number): Run[] {
    const page = this.stream.subarray(at, at + pageBytes);
    if (page.length < pageBytes) return [];
    const runs: Run[] = [];
    const count = page[pageBytes - 1]!;
    for (let i = 0; i < count && 4 * (count + 1) + this.entryBytes * (i + 1) < pageBytes; i++) {
      const offset = page[4 * (count + 1) + this.entryBytes * i]! * 2;
      const [start, end] = [page.readUInt32LE(4 * i), page.readUInt32LE(4 * i + 4)];
      runs.push({ start, end, properties: offset === 0 ? Buffer.alloc(0) : this.propertiesAt(page, offset) });
    }
    return runs;
  }

  private propertiesAt(page: Buffer, offset: number): Buffer {
    const count = page[offset]!;
    if (this.entryBytes === 1) return page.subarray(offset + 1, offset + 1 + count);
    return count === 0
      ? page.subarray(offset + 2, offset + 2 + 2 * (page[offset + 1] ?? 0))
      : page.subarray(offset + 1, offset + 2 * count);
  }
}

const sizeOfKind = [1, 1, 2, 4, 2, 2, undefined, 3];
const tableDefinition = 0xd608;

/** Codes of properties with their operands, at least four bytes each. */
export function* codesIn(properties: Buffer): Generator<{ code: number; operand: Buffer }> {
  for (let at = 0; at + 2 < properties.length;) {
    const code = properties.readUInt16LE(at);
    at += 2;
    let size = sizeOfKind[code >> 13];
    if (size === undefined) {
      if (code === tableDefinition) {
        size = at + 2 <= properties.length ? Math.max(0, properties.readUInt16LE(at) - 1) : 0;
        at += 2;
      } else size = properties[at++] ?? 0;
    }
    const operand = properties.subarray(at, at + size);
    at += size;
    yield { code, operand: operand.length < 4 ? Buffer.concat([operand], 4) : operand };
  }
}

/** Pieces do not share bytes, so all of them together are no longer than the stream. */
function piecesIn(clx: Buffer, streamBytes: number): Piece[] {
  let at = 0;
  while (clx[at] === 1 && at + 3 <= clx.length) at += 3 + clx.readUInt16LE(at + 1);
  if (clx[at] !== 2 || at + 5 > clx.length) throw damaged('it has no text');
  const list = clx.subarray(at + 5);
  const count = Math.max(0, Math.floor((list.length - 4) / 12));
  const pieces: Piece[] = [];
  let total = 0;
  for (let i = 0; i < count; i++) {
    const [start, end] = [list.readUInt32LE(4 * i), list.readUInt32LE(4 * i + 4)];
    const position = list.readUInt32LE(4 * (count + 1) + 8 * i + 2);
    const size = position & compressed ? 1 : 2;
    const fc = position & 0x3fff_ffff;
    const from = size === 1 ? fc / 2 : fc;
    const last = Math.min(end, start + Math.floor(Math.max(0, streamBytes - from) / size));
    if (start < (pieces.at(-1)?.end ?? 0) || end < start) throw damaged('its pieces of text overlap');
    total += (last - start) * size;
    if (total > streamBytes) throw damaged('its pieces of text overlap');
    if (last > start) pieces.push({ start, end: last, at: from, size });
  }
  return pieces;
}

/** Names of fonts, each behind a head of 40 bytes. */
function fontsIn(list: Buffer): { name: string; charset: number }[] {
  const fonts: { name: string; charset: number }[] = [];
  for (let at = 4; at < list.length; at += 1 + list[at]!) {
    const font = list.subarray(at + 1, at + 1 + list[at]!);
    const name = font.toString('utf16le', 39).split('\0', 1)[0]!;
    fonts.push({ name, charset: font[3] ?? 0 });
  }
  return fonts;
}
