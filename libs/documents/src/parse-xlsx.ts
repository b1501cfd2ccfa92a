import { type Block, type OnReading } from './block';
import { builtInFormat, formatOf, formattedText, type NumberFormat, numberText } from './excel-number';
import { mainPart, relationId, relationsOf } from './office-relations';
import { parseXlsb } from './parse-xlsb';
import { type Merge, Sheets } from './sheet';
import { sheetComments } from './sheet-comments';
import { drawingBlocks } from './sheet-drawings';
import { isMargin, marginText } from './sheet-margins';
import { wholeNumber } from './whole-number';
import { descendants, elementAt, parseXml, childElements, scanXml, type XmlListener } from './xml-tree';
import { Archive, isOther } from './zip';

interface Workbook {
  strings: string[];
  styles: NumberFormat[];
  from1904: boolean;
}

/** Formula that no program has computed yet, cut as a text would be. */
const longestFormula = 1_000;
const lastRow = 1_048_576;

/**
 * Excel workbooks (.xlsx, .xlsb): all sheets in tab order, including hidden ones, each with the headers and footers of
 * its pages, its shapes, charts and comments below its cells. Formulas show their cached value, without one the formula. Cells are kept in a sparse map, so a cell
 * at the far end of a sheet costs no more than any other.
 */
export async function parseXlsx(bytes: Buffer, onReading?: OnReading): Promise<Block[]> {
  const archive = await Archive.open(bytes, { save: 'Excel workbook (.xlsx)' });
  const part = await mainPart(archive, archive.has('xl/workbook.bin') ? 'xl/workbook.bin' : 'xl/workbook.xml');
  if (part.endsWith('.bin')) return parseXlsb(archive, part);
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
    styles: styles ? numberFormats(styles) : [],
    from1904: /^(?:1|true)$/.test(elementAt(tree, 'workbookPr')?.attributes.date1904 ?? ''),
  };
  const sheets = new Sheets();
  const listed = childElements(elementAt(tree, 'sheets'), 'sheet');
  for (const [index, sheet] of listed.entries()) {
    const relation = relations.find(({ id }) => id === relationId(sheet));
    // Chart sheets have tabs as well.
    if (!relation || !/^(?:work|chart)sheet$/.test(relation.type)) continue;
    sheets.startSheet(sheet.attributes.name ?? '');
    const onPart = (part: number) => onReading?.((index + part) / listed.length);
    if (relation.type === 'worksheet') readSheet(await archive.read(relation.target), workbook, sheets, onPart);
    const related = await relationsOf(archive, relation.target);
    sheets.addBlocks(await drawingBlocks(archive, related));
    sheets.addBlocks(await sheetComments(archive, related, relations));
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

function numberFormats(bytes: Buffer): NumberFormat[] {
  const tree = parseXml(bytes);
  const declared = new Map<number, NumberFormat>();
  for (const format of descendants(tree, 'numFmt')) {
    declared.set(Number(format.attributes.numFmtId), formatOf(format.attributes.formatCode ?? ''));
  }
  return childElements(elementAt(tree, 'cellXfs'), 'xf').map(({ attributes }) => {
    const id = Number(attributes.numFmtId ?? 0);
    return declared.get(id) ?? builtInFormat(id);
  });
}

interface Cell {
  column: number;
  type: string;
  style: number;
  value: string[];
  formula: string[];
}

function readSheet(bytes: Buffer, workbook: Workbook, sheets: Sheets, onReading: OnReading): void {
  let row = new Map<number, string>();
  let column = 0;
  let cell: Cell | undefined;
  let inValue = false;
  let inFormula = false;
  let margin: string[] | undefined;
  let number = 0;
  const inline = new TextRuns();
  const listener: XmlListener = {
    open(name, { r, t, s, ref }) {
      if (name === 'row') {
        row = new Map();
        number = wholeNumber(r, { least: number + 1, most: Math.max(lastRow, number + 1), otherwise: number + 1 });
        column = 0;
      } else if (name === 'c') {
        column = columnOf(r) ?? column + 1;
        cell = { column, type: t ?? 'n', style: Number(s ?? 0), value: [], formula: [] };
      } else if (name === 'v') inValue = true;
      else if (name === 'f') inFormula = true;
      else if (name === 'mergeCell') {
        const merge = rangeOf(ref);
        if (merge) sheets.merge(merge);
      } else if (isMargin(name)) margin = [];
      else if (cell) inline.open(name);
    },
    text(text) {
      if (margin) margin.push(text);
      else if (inValue) cell?.value.push(text);
      else if (inFormula) cell?.formula.push(text);
      else if (cell) inline.add(text);
    },
    close(name) {
      if (name === 'v') inValue = false;
      else if (name === 'f') inFormula = false;
      else if (name === 'row') sheets.addRow(number, row);
      else if (name === 'c' && cell) {
        row.set(cell.column, cellText(cell, inline.take(), workbook));
        cell = undefined;
      } else if (margin && isMargin(name)) {
        sheets.addMargin(marginText(margin.join('')));
        margin = undefined;
      } else if (cell) inline.close(name);
    },
  };
  scanXml(bytes, listener, onReading);
}

function columnOf(reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/i.exec(reference ?? '')?.[0].toUpperCase();
  if (!letters) return undefined;
  return [...letters].reduce((number, letter) => number * 26 + letter.charCodeAt(0) - 64, 0);
}

/** Range such as `B1:C2`. */
function rangeOf(reference: string | undefined): Merge | undefined {
  const [, left, top, right, bottom] =
    /^\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})$/i.exec(reference ?? '') ?? [];
  if (!bottom) return undefined;
  return { top: Number(top), left: columnOf(left)!, bottom: Number(bottom), right: columnOf(right)! };
}

function cellText(cell: Cell, inline: string, { strings, styles, from1904 }: Workbook): string {
  const text = cell.value.join('');
  const format = styles[cell.style];
  const formula = cell.formula.join('').trim();
  if (text === '' && inline === '' && formula !== '')
    return `=${formula.replaceAll('_xlfn.', '').slice(0, longestFormula)}`;
  switch (cell.type) {
    case 's':
      return formattedText(strings[Number(text)] ?? '', format);
    case 'inlineStr':
      return formattedText(inline, format);
    case 'b':
      return text === '' ? '' : text === '1' ? 'TRUE' : 'FALSE';
    case 'n':
      return numberText(text, format, { from1904 });
    case 'str':
      return formattedText(text, format);
    default:
      return text;
  }
}
