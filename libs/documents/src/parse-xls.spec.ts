import { encodedAs } from './test/encoded-as';
import { compoundFileOf } from './test/compound-file-of';
import { parseXls } from './parse-xls';

const record = (type: number, ...parts: Buffer[]) => {
  const content = Buffer.concat(parts);
  return Buffer.concat([words(type, content.length), content]);
};
const words = (...values: number[]) => Buffer.from(new Uint16Array(values).buffer);
const double = (value: number) => Buffer.from(new Float64Array([value]).buffer);
const long = (value: number) => Buffer.from(new Uint32Array([value]).buffer);
const western = (text: string) => Buffer.concat([words(text.length), Buffer.from([0]), Buffer.from(text, 'latin1')]);
const end = record(0x0a);
const excel97 = 0x600;
const excel95 = 0x500;

interface Workbook {
  version?: number;
  globals?: Buffer[];
  cells: Buffer[];
}

function workbook({ version = excel97, globals = [], cells }: Workbook): Buffer {
  const start = (kind: number) => record(0x809, words(version, kind), Buffer.alloc(12));
  const before = Buffer.concat([start(5), ...globals]);
  const name = version === excel97 ? Buffer.from([3, 0, 0x54, 0x61, 0x62]) : Buffer.from([3, 0x54, 0x61, 0x62]);
  const tab = (position: number) => record(0x85, long(position), words(0), name);
  const position = before.length + tab(0).length + end.length;
  const stream = Buffer.concat([before, tab(position), end, start(0x10), ...cells, end]);
  return compoundFileOf({ [version === excel97 ? 'Workbook' : 'Book']: stream });
}

const tableOf = (content: Workbook) => parseXls(workbook(content))[1]?.text;
const text = (row: number, column: number, value: string) => record(0x204, words(row, column, 0), western(value));

it('reads numbers in all their forms', () => {
  const cells = [
    record(0x203, words(0, 0, 0), double(1.1)),
    record(0x27e, words(0, 1, 0), long(((-3 << 2) | 2) >>> 0)),
    record(0x27e, words(0, 2, 0), long((1234 << 2) | 3)),
    record(0xbd, words(0, 3), words(0), long((7 << 2) | 2), words(0), long((8 << 2) | 2), words(4)),
    record(0x205, words(0, 5, 0), Buffer.from([1, 0])),
    record(0x205, words(0, 6, 0), Buffer.from([7, 1])),
    record(0x06, words(0, 7, 0), double(2.5), Buffer.alloc(8)),
  ];

  expect(tableOf({ cells })).toBe('1.1 | -3 | 12.34 | 7 | 8 | TRUE | #DIV/0! | 2.5');
});

it('reads results of formulas that are texts, errors and truth values', () => {
  const result = (...bytes: number[]) => Buffer.from([...bytes, 0xff, 0xff]);
  const cells = [
    record(0x06, words(0, 0, 0), result(0, 0, 0, 0, 0, 0), Buffer.alloc(8)),
    record(0x207, western('done')),
    record(0x06, words(0, 1, 0), result(1, 0, 1, 0, 0, 0), Buffer.alloc(8)),
    record(0x06, words(0, 2, 0), result(2, 0, 42, 0, 0, 0), Buffer.alloc(8)),
  ];

  expect(tableOf({ cells })).toBe('done | TRUE | #N/A');
});

it('shows dates, percentages and 1904 dates as the sheet does', () => {
  const globals = [
    record(0x22, words(1)),
    record(0x41e, words(170), western('0.0%')),
    ...[0, 14, 170].map((format) => record(0xe0, words(0, format), Buffer.alloc(16))),
  ];
  const cells = [record(0x203, words(0, 0, 1), double(44_459)), record(0x203, words(0, 1, 2), double(0.125))];

  expect(tableOf({ globals, cells })).toBe('2025-09-21 | 12.5%');
});

it('reads shared texts that go on in the next record, with other bytes for a character', () => {
  const strings = record(0xfc, long(3), long(3), words(4), Buffer.from([0]), Buffer.from('ab'));
  const more = record(
    0x3c,
    Buffer.from([1]),
    Buffer.from('жщ', 'utf16le'),
    // A text with a run of formatting and an extension.
    words(1),
    Buffer.from([0x0c]),
    words(1),
    long(2),
    Buffer.from('x'),
    Buffer.alloc(6),
    western('last'),
  );
  const cells = [0, 1, 2].map((index) => record(0xfd, words(0, index, 0), long(index)));

  expect(tableOf({ globals: [strings, more], cells })).toBe('abжщ | x | last');
});

it('reads texts of Excel 95 in their code page', () => {
  const bytes = encodedAs('windows-1251', 'Причал');
  const cells = [record(0x204, words(0, 0, 0), words(bytes.length), bytes)];

  expect(tableOf({ version: excel95, globals: [record(0x42, words(1251))], cells })).toBe('Причал');
});

it('repeats merged headers, and reads notes and text boxes below the cells', () => {
  const shape = (id: number, value: string) => [
    record(0x5d, words(0x15, 0x12, 0x19, id), Buffer.alloc(14)),
    record(0x1b6, Buffer.alloc(10), words(value.length, 0), Buffer.alloc(4)),
    record(0x3c, Buffer.from([0]), Buffer.from(value)),
  ];
  const cells = [
    text(0, 0, 'Costs'),
    ...['2025', '2026'].map((year, column) => text(1, column, year)),
    record(0xe5, words(1, 0, 0, 0, 1)),
    ...shape(1, 'Ann:Sure?'),
    ...shape(2, 'Boxed'),
    record(0x1c, words(1, 1, 0, 1), western('Ann')),
  ];

  expect(parseXls(workbook({ cells })).map((block) => block.text)).toEqual([
    'Tab',
    'Costs | Costs\n2025 | 2026',
    'Boxed',
    'Comment by Ann on B2: Sure?',
  ]);
});

it('passes over charts within a sheet', () => {
  const chart = [record(0x809, words(excel97, 0x20), Buffer.alloc(12)), text(5, 5, 'no'), end];

  expect(tableOf({ cells: [text(0, 0, 'yes'), ...chart, text(1, 0, 'after')] })).toBe('yes\nafter');
});

it('refuses a workbook that ends within its list of sheets', () => {
  const stream = record(0x809, words(excel97, 5), Buffer.alloc(12));

  expect(() => parseXls(compoundFileOf({ Workbook: stream }))).toThrow(/is damaged: it is truncated/);
});
