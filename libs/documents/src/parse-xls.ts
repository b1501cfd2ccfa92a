import { type Block, UnreadableDocument } from './block';
import { openOffice } from './compound-file';
import { booleanText, cellAddress, compactNumber, errorText, tooOldWorkbook } from './excel-binary';
import { builtInFormat, formatOf, formattedText, type NumberFormat, numberText } from './excel-number';
import { type Record, RecordReader, recordsIn } from './excel-records';
import { commentBlock } from './office-comments';
import { Sheets } from './sheet';
import { damaged, protectedByPassword } from './zip';

const record = {
  formula: 0x06,
  end: 0x0a,
  note: 0x1c,
  date1904: 0x22,
  password: 0x2f,
  codePage: 0x42,
  object: 0x5d,
  sheet: 0x85,
  numbers: 0xbd,
  richText: 0xd6,
  style: 0xe0,
  merges: 0xe5,
  strings: 0xfc,
  textRef: 0xfd,
  shapeText: 0x1b6,
  number: 0x203,
  text: 0x204,
  booleanOrError: 0x205,
  result: 0x207,
  compactNumber: 0x27e,
  format: 0x41e,
  start: 0x809,
};
const excel97 = 0x600;
const excel95 = 0x500;
const worksheet = 0;
const chartSheet = 2;
/** Numbers of code pages in workbooks that are not those of Windows. */
const codePages: { [number: number]: number } = { 0x8000: 10000, 0x8001: 1252 };

interface Tab {
  name: string;
  position: number;
  kind: number;
}

interface Note {
  row: number;
  column: number;
  author: string;
  object: number;
}

/**
 * Excel workbooks from before 2007 (.xls; Excel 5, 95 and 97 to 2003): the same content as of .xlsx but charts. Text boxes
 * and notes follow the cells.
 */
export function parseXls(bytes: Buffer): Block[] {
  const file = openOffice(bytes, { parts: ['Workbook', 'Book'], expected: 'Excel workbook' });
  return new WorkbookReader(file.find('Workbook') ?? file.get('Book')).read();
}

class WorkbookReader {
  private readonly strings: string[] = [];
  private readonly declared = new Map<number, NumberFormat>();
  private readonly styleFormats: number[] = [];
  private readonly tabs: Tab[] = [];
  private readonly sheets = new Sheets();
  private styles: NumberFormat[] = [];
  private from1904 = false;
  /** Undefined since Excel 97, which writes Unicode. */
  private codePage: number | undefined;

  constructor(private readonly stream: Buffer) {}

  read(): Block[] {
    this.readGlobals();
    this.styles = this.styleFormats.map((id) => this.declared.get(id) ?? builtInFormat(id));
    const read = new Set<number>();
    for (const { name, position, kind } of this.tabs) {
      if ((kind !== worksheet && kind !== chartSheet) || read.has(position)) continue;
      read.add(position);
      this.sheets.startSheet(name);
      if (kind === worksheet) new SheetReader(this.sheets, this).read(recordsIn(this.stream, position));
    }
    return this.sheets.blocks();
  }

  open({ parts }: Record): RecordReader {
    return new RecordReader(parts, this.codePage);
  }

  number(value: number, style: number): string {
    return numberText(String(value), this.styles[style], { from1904: this.from1904 });
  }

  text(text: string, style: number): string {
    return formattedText(text, this.styles[style]);
  }

  string(index: number): string {
    return this.strings[index] ?? '';
  }

  private readGlobals(): void {
    let isFirst = true;
    for (const one of recordsIn(this.stream)) {
      if (isFirst) this.readStart(one);
      else if (one.type === record.end) return;
      else this.readGlobal(one);
      isFirst = false;
    }
    throw damaged('it is truncated');
  }

  private readStart({ type, parts }: Record): void {
    const version = type === record.start ? new RecordReader(parts, undefined).word() : 0;
    if (version !== excel97 && version !== excel95) {
      throw tooOldWorkbook();
    }
    this.codePage = version === excel95 ? 1252 : undefined;
  }

  private readGlobal(one: Record): void {
    const reader = this.open(one);
    switch (one.type) {
      case record.password:
        throw new UnreadableDocument(protectedByPassword);
      case record.codePage: {
        const page = reader.word();
        if (this.codePage !== undefined) this.codePage = codePages[page] ?? page;
        break;
      }
      case record.date1904:
        this.from1904 = reader.word() === 1;
        break;
      case record.format:
        this.declared.set(reader.word(), formatOf(reader.text(this.codePage === undefined ? 2 : 1)));
        break;
      case record.style:
        reader.skip(2);
        this.styleFormats.push(reader.word());
        break;
      case record.sheet: {
        const position = reader.long();
        reader.skip(1);
        const kind = reader.byte();
        this.tabs.push({ position, kind, name: reader.text(1) });
        break;
      }
      case record.strings:
        reader.skip(8);
        while (!reader.isAtEnd) this.strings.push(reader.text(2));
        break;
      default:
    }
  }
}

class SheetReader {
  private readonly rows = new Map<number, Map<number, string>>();
  private readonly notes: Note[] = [];
  private readonly texts = new Map<number, string>();
  private object = 0;
  /** Cell of a formula whose result is the text in the next record. */
  private awaiting: { row: number; column: number; style: number } | undefined;

  constructor(
    private readonly sheets: Sheets,
    private readonly workbook: WorkbookReader,
  ) {}

  read(records: Iterable<Record>): void {
    // Charts within the sheet have a start and an end of their own.
    let depth = 0;
    for (const one of records) {
      if (one.type === record.start) depth++;
      else if (one.type === record.end) depth--;
      else if (depth === 1) this.readRecord(one);
      if (depth === 0) break;
    }
    for (const [row, cells] of [...this.rows].toSorted(([a], [b]) => a - b)) this.sheets.addRow(row + 1, cells);
    this.sheets.addBlocks(this.blocks());
  }

  private readRecord(one: Record): void {
    const reader = this.workbook.open(one);
    switch (one.type) {
      case record.merges:
        for (let left = reader.word(); left > 0 && !reader.isAtEnd; left--) {
          const [top, bottom, first, last] = [reader.word(), reader.word(), reader.word(), reader.word()];
          this.sheets.merge({ top: top + 1, bottom: bottom + 1, left: first + 1, right: last + 1 });
        }
        return;
      case record.result:
        if (this.awaiting) this.write(this.awaiting, this.workbook.text(reader.text(2), this.awaiting.style));
        this.awaiting = undefined;
        return;
      case record.object:
        reader.skip(6);
        this.object = reader.word();
        return;
      case record.shapeText: {
        reader.skip(10);
        const length = reader.word();
        reader.nextPart();
        this.texts.set(this.object, reader.characters(length, reader.byte()));
        return;
      }
      case record.note: {
        const [row, column] = [reader.word(), reader.word()];
        reader.skip(2);
        this.notes.push({ row, column, object: reader.word(), author: reader.text(2) });
        return;
      }
      default:
        this.readCell(one.type, Buffer.concat(one.parts), reader);
    }
  }

  private readCell(type: number, bytes: Buffer, reader: RecordReader): void {
    if (bytes.length < 8) return;
    const cell = { row: reader.word(), column: reader.word(), style: reader.word() };
    const { style } = cell;
    if (type === record.textRef && bytes.length >= 10) {
      this.write(cell, this.workbook.text(this.workbook.string(reader.long()), style));
    } else if (type === record.text || type === record.richText) {
      this.write(cell, this.workbook.text(reader.text(2), style));
    } else if (type === record.number && bytes.length >= 14) {
      this.write(cell, this.workbook.number(bytes.readDoubleLE(6), style));
    } else if (type === record.compactNumber && bytes.length >= 10) {
      this.write(cell, this.workbook.number(compactNumber(bytes, 6), style));
    } else if (type === record.booleanOrError) {
      this.write(cell, bytes[7] ? errorText(bytes[6]!) : booleanText(bytes[6]!));
    } else if (type === record.numbers) {
      for (let at = 4, { column } = cell; at + 8 <= bytes.length; at += 6, column++) {
        const number = compactNumber(bytes, at + 2);
        this.write({ ...cell, column }, this.workbook.number(number, bytes.readUInt16LE(at)));
      }
    } else if (type === record.formula && bytes.length >= 14) this.readResult(cell, bytes.subarray(6, 14));
  }

  /** Result that the last calculation of a formula had. */
  private readResult(cell: { row: number; column: number; style: number }, result: Buffer): void {
    if (result.readUInt16LE(6) !== 0xffff) {
      this.write(cell, this.workbook.number(result.readDoubleLE(0), cell.style));
    } else if (result[0] === 0) this.awaiting = cell;
    else if (result[0] === 1) this.write(cell, booleanText(result[2]!));
    else if (result[0] === 2) this.write(cell, errorText(result[2]!));
  }

  private write({ row, column }: { row: number; column: number }, text: string): void {
    let cells = this.rows.get(row);
    if (!cells) this.rows.set(row, (cells = new Map<number, string>()));
    cells.set(column + 1, text);
  }

  private blocks(): Block[] {
    const comments = this.notes.map(({ row, column, author, object }) => {
      const text = this.texts.get(object) ?? '';
      this.texts.delete(object);
      const own = author !== '' && text.startsWith(`${author}:`) ? text.slice(author.length + 1) : text;
      return commentBlock({ author, on: cellAddress(row, column), text: own });
    });
    const shapes = [...this.texts.values()].map((text): Block => ({ type: 'paragraph', text }));
    return [...shapes, ...comments].filter(({ text }) => text.trim() !== '');
  }
}
