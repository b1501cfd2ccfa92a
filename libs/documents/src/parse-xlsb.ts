import type { Block } from './block';
import { booleanText, cellAddress, compactNumber, errorText } from './excel-binary';
import { builtInFormat, formatOf, formattedText, type NumberFormat, numberText } from './excel-number';
import { commentBlock } from './office-comments';
import { type Relation, relationsOf } from './office-relations';
import { type Merge, Sheets } from './sheet';
import { drawingBlocks } from './sheet-drawings';
import type { Archive } from './zip';

const record = {
  row: 0,
  compactNumber: 2,
  error: 3,
  boolean: 4,
  number: 5,
  text: 6,
  textRef: 7,
  formulaText: 8,
  formulaNumber: 9,
  formulaBoolean: 10,
  formulaError: 11,
  firstShort: 12,
  lastShort: 18,
  sharedText: 19,
  format: 44,
  style: 47,
  workbook: 153,
  sheet: 156,
  merge: 176,
  cellStyles: 617,
  cellStylesEnd: 618,
  author: 632,
  comment: 635,
  commentText: 637,
};
/** Bytes of the style before the value of a cell. */
const cellBytes = 4;
/** Cells without a column follow the cell before them. Their kinds come in the order of the others. */
const shortKinds = [1, 2, 3, 4, 5, 6, 7];
const lastRow = 1_048_575;

interface Workbook {
  strings: string[];
  styles: NumberFormat[];
  from1904: boolean;
}

/** Binary Excel workbooks (.xlsb): the archive of .xlsx with records in place of XML. */
export async function parseXlsb(archive: Archive, part: string): Promise<Block[]> {
  const relations = await relationsOf(archive, part);
  const read = async (type: string) => {
    const target = relations.find((relation) => relation.type === type)?.target;
    return target && archive.has(target) ? await archive.read(target) : Buffer.alloc(0);
  };
  const workbook: Workbook = { strings: [], styles: numberFormats(await read('styles')), from1904: false };
  for (const { type, bytes } of recordsIn(await read('sharedStrings'))) {
    if (type === record.sharedText) workbook.strings.push(textAt(bytes, 1));
  }
  const sheets = new Sheets();
  for (const { type, bytes } of recordsIn(await archive.read(part))) {
    if (type === record.workbook) workbook.from1904 = (bytes[0]! & 1) === 1;
    if (type !== record.sheet) continue;
    const id = textAt(bytes, 8);
    const relation = relations.find((one) => one.id === id);
    if (!relation || !/^(?:work|chart)sheet$/.test(relation.type) || !archive.has(relation.target)) continue;
    sheets.startSheet(textAt(bytes, 12 + 2 * id.length));
    if (relation.type === 'worksheet') readSheet(await archive.read(relation.target), workbook, sheets);
    const related = await relationsOf(archive, relation.target);
    sheets.addBlocks(await drawingBlocks(archive, related));
    sheets.addBlocks(await comments(archive, related));
  }
  return sheets.blocks();
}

interface Record {
  type: number;
  /** At least 20, with zeros behind the end of a short record. */
  bytes: Buffer;
}

const leastBytes = 20;

/** Types have one or two bytes, lengths up to four, each with seven bits and a mark that another one follows. */
function* recordsIn(part: Buffer): Generator<Record> {
  let at = 0;
  const variable = (most: number) => {
    let value = 0;
    for (let i = 0; i < most && at < part.length; i++) {
      const byte = part[at++]!;
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < part.length) {
    // A type of two bytes counts all bits of its first.
    const first = part[at++]!;
    const type = first < 0x80 ? first : (first & 0x7f) + ((part[at++] ?? 0) & 0x7f) * 0x80;
    const length = variable(4);
    const bytes = part.subarray(at, at + length);
    at += length;
    yield { type, bytes: bytes.length < leastBytes ? Buffer.concat([bytes], leastBytes) : bytes };
  }
}

function textAt(bytes: Buffer, at: number): string {
  if (at + 4 > bytes.length) return '';
  const length = bytes.readUInt32LE(at);
  return length === 0xffff_ffff ? '' : bytes.toString('utf16le', at + 4, Math.min(bytes.length, at + 4 + 2 * length));
}

function numberFormats(part: Buffer): NumberFormat[] {
  const declared = new Map<number, NumberFormat>();
  const styles: NumberFormat[] = [];
  let isOfCells = false;
  for (const { type, bytes } of recordsIn(part)) {
    if (type === record.format) declared.set(bytes.readUInt16LE(0), formatOf(textAt(bytes, 2)));
    else if (type === record.cellStyles) isOfCells = true;
    else if (type === record.cellStylesEnd) isOfCells = false;
    else if (type === record.style && isOfCells) {
      const id = bytes.readUInt16LE(2);
      styles.push(declared.get(id) ?? builtInFormat(id));
    }
  }
  return styles;
}

function readSheet(part: Buffer, workbook: Workbook, sheets: Sheets): void {
  let number: number | undefined;
  let row = new Map<number, string>();
  let column = 0;
  const endRow = () => {
    if (number !== undefined) sheets.addRow(number + 1, row);
    row = new Map();
  };
  for (const { type, bytes } of recordsIn(part)) {
    if (type === record.row) {
      endRow();
      number = Math.min(bytes.readUInt32LE(0), lastRow);
      column = 0;
    } else if (type === record.merge) sheets.merge(mergeAt(bytes, 0));
    else {
      const isShort = type >= record.firstShort && type <= record.lastShort;
      const kind = isShort ? shortKinds[type - record.firstShort]! : type;
      if (kind === record.row || kind > record.formulaError) continue;
      column = isShort ? column + 1 : bytes.readUInt32LE(0) + 1;
      const text = cellText(kind, isShort ? bytes : bytes.subarray(4), workbook);
      if (text !== undefined) row.set(column, text);
    }
  }
  endRow();
}

function mergeAt(bytes: Buffer, at: number): Merge {
  const [top, bottom, left, right] = [0, 4, 8, 12].map((offset) => bytes.readUInt32LE(at + offset) + 1);
  return { top: top!, bottom: bottom!, left: left!, right: right! };
}

/** Undefined for records of other kinds. */
function cellText(type: number, bytes: Buffer, { strings, styles, from1904 }: Workbook): string | undefined {
  const format = styles[bytes.readUInt32LE(0) & 0xff_ffff];
  switch (type) {
    case record.compactNumber:
      return numberText(String(compactNumber(bytes, cellBytes)), format, { from1904 });
    case record.number:
    case record.formulaNumber:
      return numberText(String(bytes.readDoubleLE(cellBytes)), format, { from1904 });
    case record.text:
    case record.formulaText:
      return formattedText(textAt(bytes, cellBytes), format);
    case record.textRef:
      return formattedText(strings[bytes.readUInt32LE(cellBytes)] ?? '', format);
    case record.boolean:
    case record.formulaBoolean:
      return booleanText(bytes[cellBytes]!);
    case record.error:
    case record.formulaError:
      return errorText(bytes[cellBytes]!);
    default:
      return undefined;
  }
}

async function comments(archive: Archive, relations: Relation[]): Promise<Block[]> {
  const blocks: Block[] = [];
  for (const { type: kind, target } of relations) {
    if (kind !== 'comments' || !archive.has(target)) continue;
    const authors: string[] = [];
    let [author, on] = ['', ''];
    for (const { type, bytes } of recordsIn(await archive.read(target))) {
      if (type === record.author) authors.push(textAt(bytes, 0));
      else if (type === record.comment) {
        author = authors[bytes.readUInt32LE(0)] ?? '';
        on = cellAddress(bytes.readUInt32LE(4), bytes.readUInt32LE(12));
      } else if (type === record.commentText) {
        const text = textAt(bytes, 1);
        const own = author !== '' && text.startsWith(`${author}:`) ? text.slice(author.length + 1) : text;
        blocks.push(commentBlock({ author, on, text: own }));
      }
    }
  }
  return blocks.filter(({ text }) => text !== '');
}
