import type { Block } from './block';
import { cellAddress, booleanText } from './excel-binary';
import { builtInFormat, formatOf, formattedText, type NumberFormat, numberText } from './excel-number';
import { commentBlock } from './office-comments';
import { Sheets } from './sheet';
import { wholeNumber } from './whole-number';
import { attributeOf, descendants, elementAt, scanXml, textOf, type XmlElement } from './xml-tree';

const lastRow = 1_048_576;
const lastColumn = 16_384;
/** Ids of the built-in formats that have names in place of codes. */
const named: { [name: string]: number } = {
  'general date': 22,
  'long date': 14,
  'medium date': 14,
  'short date': 14,
  'long time': 21,
  'medium time': 20,
  'short time': 20,
  fixed: 2,
  standard: 4,
  percent: 10,
  scientific: 11,
};

/** Excel workbooks in XML as of 2002 and 2003 ("XML Spreadsheet 2003"), one tree for each row. */
export function parseExcel2003(bytes: Buffer): Block[] {
  const sheets = new Sheets();
  const formats = new Map<string, NumberFormat>();
  const open: XmlElement[] = [];
  let notes: Block[] = [];
  let row = 0;
  scanXml(bytes, {
    open(name, attributes) {
      const element = { name, attributes, children: [] };
      if (name === 'Worksheet') {
        sheets.startSheet(attributeOf(element, 'Name') ?? '');
        row = 0;
      }
      if (open.length === 0 && name !== 'Style' && name !== 'Row') return;
      open.at(-1)?.children.push(element);
      open.push(element);
    },
    text: (text) => void open.at(-1)?.children.push(text),
    close(name) {
      const closed = open.pop();
      if (name === 'Worksheet') sheets.addBlocks(notes.splice(0));
      if (!closed || open.length > 0) return;
      if (closed.name === 'Style') {
        const format = attributeOf(elementAt(closed, 'NumberFormat'), 'Format') ?? '';
        const id = named[format.toLowerCase()];
        formats.set(attributeOf(closed, 'ID') ?? '', id === undefined ? formatOf(format) : builtInFormat(id));
        return;
      }
      row = wholeNumber(attributeOf(closed, 'Index'), { least: row + 1, most: lastRow, otherwise: row + 1 });
      notes.push(...readRow(closed, row, { sheets, formats }));
    },
  });
  return sheets.blocks();
}

/** Returns the comments on the cells of the row. */
function readRow(
  element: XmlElement,
  row: number,
  { sheets, formats }: { sheets: Sheets; formats: ReadonlyMap<string, NumberFormat> },
): Block[] {
  const cells = new Map<number, string>();
  const notes: Block[] = [];
  let column = 0;
  for (const cell of descendants(element, 'Cell')) {
    const span = (name: string) => wholeNumber(attributeOf(cell, name), { least: 0, most: lastRow, otherwise: 0 });
    column = wholeNumber(attributeOf(cell, 'Index'), { least: column + 1, most: lastColumn, otherwise: column + 1 });
    const data = elementAt(cell, 'Data');
    if (data) cells.set(column, cellText(data, formats.get(attributeOf(cell, 'StyleID') ?? '')));
    const [across, down] = [span('MergeAcross'), span('MergeDown')];
    if (across + down > 0) sheets.merge({ top: row, left: column, bottom: row + down, right: column + across });
    const comment = elementAt(cell, 'Comment');
    if (comment) {
      const on = cellAddress(row - 1, column - 1);
      const text = descendants(comment, 'Data').map(textOf).join('');
      notes.push(commentBlock({ author: attributeOf(comment, 'Author'), on, text }));
    }
    column += across;
  }
  sheets.addRow(row, cells);
  return notes.filter(({ text }) => text !== '');
}

function cellText(data: XmlElement, format: NumberFormat | undefined): string {
  const text = textOf(data);
  switch (attributeOf(data, 'Type') ?? '') {
    case 'Number':
      return numberText(text, format, { from1904: false });
    case 'DateTime':
      return dateText(text);
    case 'Boolean':
      return booleanText(Number(text));
    case 'Error':
      return text;
    default:
      return formattedText(text, format);
  }
}

/** Dates are written in full: a date without a time has midnight, a time of the day the first day that Excel knows. */
function dateText(written: string): string {
  const [, date, time] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})/.exec(written.trim()) ?? [];
  if (!date || !time) return written;
  if (date <= '1900-01-00' || date === '1899-12-31') return time;
  return time === '00:00:00' ? date : `${date}T${time}`;
}
