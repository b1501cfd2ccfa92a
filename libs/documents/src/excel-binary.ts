import { UnreadableDocument } from './block';

/* Values that both binary formats of Excel have (MS-XLS, MS-XLSB). */

const errors: Record<number, string> = {
  0: '#NULL!',
  7: '#DIV/0!',
  15: '#VALUE!',
  23: '#REF!',
  29: '#NAME?',
  36: '#NUM!',
  42: '#N/A',
  43: '#GETTING_DATA',
};

export function errorText(code: number): string {
  return errors[code] ?? '';
}

export function booleanText(value: number): string {
  return value === 0 ? 'FALSE' : 'TRUE';
}

/** Number in four bytes: an integer, or the upper half of a double, either of them in hundredths. */
export function compactNumber(bytes: Buffer, at: number): number {
  const written = bytes.readUInt32LE(at);
  const double = Buffer.alloc(8);
  double.writeUInt32LE((written & ~3) >>> 0, 4);
  const number = written & 2 ? (written | 0) >> 2 : double.readDoubleLE(0);
  return written & 1 ? number / 100 : number;
}

/** Address of a cell, such as `B3`, from indices that begin at 0. */
export function cellAddress(row: number, column: number): string {
  let letters = '';
  for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
  }
  return `${letters}${row + 1}`;
}

export function tooOldWorkbook(): UnreadableDocument {
  return new UnreadableDocument(
    'The workbook has the format of Excel 4 or older: save it as Excel workbook (.xlsx), and upload that.',
  );
}
