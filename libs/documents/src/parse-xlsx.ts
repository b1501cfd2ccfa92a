import { type Block } from './block';
import { builtInFormat, numberText, type TimeFormat, timeFormatOf } from './excel-number';
import { mainPart, relationId, relationsOf } from './office-relations';
import { Sheets } from './sheet';
import { descendants, elementAt, parseXml, childElements, scanXml } from './xml-tree';
import { Archive, isOther } from './zip';

interface Workbook {
  strings: string[];
  styles: TimeFormat[];
  from1904: boolean;
}

/**
 * Excel workbooks (.xlsx): all sheets in tab order, including hidden ones. Formulas show their cached value. Cells are
 * kept in a sparse map, so a cell at the far end of a sheet costs no more than any other.
 */
export async function parseXlsx(bytes: Buffer): Promise<Block[]> {
  const archive = await Archive.open(bytes, { save: 'Excel workbook (.xlsx)' });
  const part = await mainPart(archive, 'xl/workbook.xml');
  const relations = await relationsOf(archive, part);
  const read = async (type: string) => {
    const target = relations.find((relation) => relation.type === type)?.target;
    return target && archive.has(target) ? await archive.read(target) : undefined;
  };

  const tree = parseXml(await archive.read(part));
  if (tree.name !== 'workbook') throw isOther('Excel workbook');
  const strings = await read('sharedStrings');
  const styles = await read('styles');
  const workbook: Workbook = {
    strings: strings ? sharedStrings(strings) : [],
    styles: styles ? timeFormats(styles) : [],
    from1904: /^(?:1|true)$/.test(elementAt(tree, 'workbookPr')?.attributes.date1904 ?? ''),
  };
  const sheets = new Sheets();
  for (const sheet of childElements(elementAt(tree, 'sheets'), 'sheet')) {
    const relation = relations.find(({ id }) => id === relationId(sheet));
    // Chart sheets have tabs as well.
    if (relation?.type !== 'worksheet') continue;
    sheets.startSheet(sheet.attributes.name ?? '');
    readSheet(await archive.read(relation.target), workbook, sheets);
  }
  return sheets.blocks();
}

function sharedStrings(bytes: Buffer): string[] {
  const strings: string[] = [];
  const text = new TextRuns();
  scanXml(bytes, {
    open: (name) => text.open(name),
    text: (part) => text.add(part),
    close(name) {
      text.close(name);
      if (name === 'si') strings.push(text.take());
    },
  });
  return strings;
}

class TextRuns {
  private parts: string[] = [];
  private inText = false;
  private inPhonetic = false;

  open(name: string): void {
    if (name === 't') this.inText = true;
    if (name === 'rPh') this.inPhonetic = true;
  }

  add(text: string): void {
    if (this.inText && !this.inPhonetic) this.parts.push(text);
  }

  close(name: string): void {
    if (name === 't') this.inText = false;
    if (name === 'rPh') this.inPhonetic = false;
  }

  take(): string {
    const text = this.parts.join('').replace(/_x([0-9A-F]{4})_/gi, (_, hex: string) => fromHex(hex));
    this.parts = [];
    return text;
  }
}

function fromHex(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

function timeFormats(bytes: Buffer): TimeFormat[] {
  const tree = parseXml(bytes);
  const declared = new Map<number, TimeFormat>();
  for (const format of descendants(tree, 'numFmt')) {
    declared.set(Number(format.attributes.numFmtId), timeFormatOf(format.attributes.formatCode ?? ''));
  }
  return childElements(elementAt(tree, 'cellXfs'), 'xf').map(({ attributes }) => {
    const id = Number(attributes.numFmtId ?? 0);
    return declared.has(id) ? declared.get(id) : builtInFormat(id);
  });
}

interface Cell {
  column: number;
  type: string;
  style: number;
  value: string[];
}

function readSheet(bytes: Buffer, workbook: Workbook, sheets: Sheets): void {
  let row = new Map<number, string>();
  let column = 0;
  let cell: Cell | undefined;
  let inValue = false;
  const inline = new TextRuns();
  scanXml(bytes, {
    open(name, { r, t, s }) {
      if (name === 'row') {
        row = new Map();
        column = 0;
      } else if (name === 'c') {
        column = columnOf(r) ?? column + 1;
        cell = { column, type: t ?? 'n', style: Number(s ?? 0), value: [] };
      } else if (name === 'v') inValue = true;
      else if (cell) inline.open(name);
    },
    text(text) {
      if (inValue) cell?.value.push(text);
      else if (cell) inline.add(text);
    },
    close(name) {
      if (name === 'v') inValue = false;
      else if (name === 'row') sheets.addRow(row);
      else if (name === 'c' && cell) {
        row.set(cell.column, cellText(cell, inline.take(), workbook));
        cell = undefined;
      } else if (cell) inline.close(name);
    },
  });
}

function columnOf(reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/i.exec(reference ?? '')?.[0].toUpperCase();
  if (!letters) return undefined;
  return [...letters].reduce((number, letter) => number * 26 + letter.charCodeAt(0) - 64, 0);
}

function cellText({ type, style, value }: Cell, inline: string, { strings, styles, from1904 }: Workbook): string {
  const text = value.join('');
  switch (type) {
    case 's':
      return strings[Number(text)] ?? '';
    case 'inlineStr':
      return inline;
    case 'b':
      return text === '' ? '' : text === '1' ? 'TRUE' : 'FALSE';
    case 'n':
      return numberText(text, styles[style], { from1904 });
    default:
      return text;
  }
}
