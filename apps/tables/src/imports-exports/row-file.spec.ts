import { gzipSync } from 'node:zlib';
import { Parser } from 'csv-parse';
import fc from 'fast-check';
import type { ExportFormat } from '../jobs/job.entity';
import { IgnoredColumns, maxRowCharacters, type ReadRow } from './read-row';
import { readRows } from './row-file';
import { unpackedText, unpackingLimits } from './unpacked-text';
import { contentTypes, type WrittenRow, writtenRows } from './written-rows';

const types = { name: 'string', price: 'number', sold: 'boolean', tags: 'array', size: 'object' };
const columns = new Map<string, { schema: { type: string; format?: string } }>(
  Object.entries(types).map(([name, type]) => [name, { schema: { type } }]),
);

async function* chunksOf(content: string | Uint8Array, size = 7): AsyncIterable<Uint8Array> {
  const bytes = Buffer.from(content as Uint8Array);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

function read(
  content: string | Uint8Array,
  contentType = 'application/octet-stream',
  ignored = new IgnoredColumns(),
  chunkSize?: number,
): Promise<ReadRow[]> {
  return all(readRows(unpackedText(chunksOf(content, chunkSize)), contentType, columns, ignored));
}

async function written(format: ExportFormat, names: string[], ...batches: WrittenRow[][]): Promise<string> {
  async function* given() {
    yield* batches;
  }
  return (await all(writtenRows(format, names, given()))).join('');
}

describe('A CSV file', () => {
  it('reads typed values of a CSV file, with columns in any order and no values for empty cells', async () => {
    const rows = await read('sold,name,price,tags,size\nTRUE,"Tea, green",-1.5e3,"[1,""a""]","{""w"":2}"\nfalse,,,,\n');

    expect(rows).toEqual([
      { location: 'Line 2', row: { sold: true, name: 'Tea, green', price: -1500, tags: [1, 'a'], size: { w: 2 } } },
      { location: 'Line 3', row: { sold: false } },
    ]);
  });

  it('keeps text of a CSV file that does not match the type for the row check', async () => {
    const [row] = await read('price,sold,tags\n12 Euro,perhaps,"[1"\n');

    expect(row).toMatchObject({ row: { price: '12 Euro', sold: 'perhaps', tags: '[1' } });
  });

  it('accepts the usual forms of numbers', async () => {
    const rows = await read('price\n12\n+1.\n.5\n -0.25 \n1E3\n1.e-2\n.\n1.2.3\n', 'text/csv');

    expect(rows.map((row) => ('row' in row ? row.row.price : row))).toEqual([
      12,
      1,
      0.5,
      -0.25,
      1000,
      0.01,
      '.',
      '1.2.3',
    ]);
  });

  it.each(['1'.repeat(990_000), `${'1'.repeat(990_000)}x`, `${' '.repeat(990_000)}x`])(
    'parses a cell of a million characters in linear time',
    async (cell) => {
      // Quadratic work would take hours.
      const rows = await read(`price\n${cell}\n`, 'text/csv', new IgnoredColumns(), 65_536);

      expect(rows).toEqual([{ location: 'Line 2', row: { price: cell } }]);
    },
  );

  it.each([
    ['semicolons', 'name;price\n"Tea; green, old";1\n'],
    ['tabs', 'name\tprice\n"Tea; green, old"\t1\n'],
    ['vertical bars', '"name"|"price"\nTea; green, old|1\n'],
    ['semicolons, of which one name is known', 'name;a,b;c,d\n"Tea; green, old"\n'],
  ])('recognizes a CSV file with %s by the columns that its header names', async (_what, content) => {
    const [row] = await read(content, 'text/csv', new IgnoredColumns(), 1);

    expect(row).toMatchObject({ location: 'Line 2', row: { name: 'Tea; green, old' } });
  });

  it.each([
    ['text/csv', 'sep=;\r\nname;price\r\nTea, green;1\r\nMilk;2;3\r\n'],
    ['text/tab-separated-values', 'SEP=\t\nname\tprice\nTea, green\t1\nMilk\t2\t3\n'],
  ])('takes the delimiter of a CSV file (%s) from a first line sep=', async (contentType, content) => {
    expect(await read(content, contentType)).toEqual([
      { location: 'Line 3', row: { name: 'Tea, green', price: 1 } },
      { location: 'Line 4', problem: 'has 3 cells, but the header has 2.' },
    ]);
  });

  it('matches columns of a CSV file without regard to case, unless one has exactly that name', async () => {
    const both = new Map([...columns, ['Price', { schema: { type: 'string' } }]]);
    const ignored = new IgnoredColumns();
    const readBoth = (content: string) => all(readRows(unpackedText(chunksOf(content)), 'text/csv', both, ignored));

    expect(await readBoth('NAME,Name,name,Price\na,b,c,1\n')).toMatchObject([{ row: { name: 'c', Price: '1' } }]);
    expect(await readBoth('NAME,PRICE\na,1\n')).toMatchObject([{ row: { name: 'a' } }]);
    expect(ignored.warnings.map((warning) => warning.split(' ')[0])).toEqual(['NAME', 'Name', 'PRICE']);
  });

  it('reads a date of a CSV file as the start of that day in UTC where the column holds a date-time', async () => {
    const withTime = new Map([['at', { schema: { type: 'string', format: 'date-time' } }]]);
    const content = 'at\n2026-01-31\n 2026-01-31 09:30:00+02:00\n2026-02-30\n31.01.2026\n2026-01-31 09:30\n';

    const rows = await all(readRows(unpackedText(chunksOf(content)), 'text/csv', withTime, new IgnoredColumns()));

    expect(rows.map((row) => ('row' in row ? row.row.at : row))).toEqual([
      '2026-01-31T00:00:00.000Z',
      '2026-01-31T07:30:00.000Z',
      ...['2026-02-30', '31.01.2026', '2026-01-31 09:30'],
    ]);
  });

  it('reads a CSV file with a byte order mark, CRLF line ends and no final line end', async () => {
    const rows = await read('\ufeffname,price\r\nTea,1\r\nMilk,2');

    expect(rows).toMatchObject([{ row: { name: 'Tea', price: 1 } }, { row: { name: 'Milk', price: 2 } }]);
  });

  it('reports the first line of a CSV row, after cells with several lines', async () => {
    const rows = await read('name,price\n"Tea\nof\nold",1\nMilk,2\n');

    expect(rows).toEqual([
      { location: 'Line 2', row: { name: 'Tea\nof\nold', price: 1 } },
      { location: 'Line 5', row: { name: 'Milk', price: 2 } },
    ]);
  });

  it('continues after invalid rows of a CSV file', async () => {
    const rows = await read('name,price\nTea"s,1\nMilk,2,3\nHoney\nSalt,4\n');

    expect(rows).toEqual([
      { location: 'Line 2', problem: expect.stringContaining('quotation mark inside a cell') as string },
      { location: 'Line 3', problem: 'has 3 cells, but the header has 2.' },
      { location: 'Line 4', row: { name: 'Honey' } },
      { location: 'Line 5', row: { name: 'Salt', price: 4 } },
    ]);
  });

  it('does not read a whole CSV file into memory because of an unclosed quotation mark', async () => {
    const content = `name,price\nTea,1\n"Milk,2\n${'x'.repeat(maxRowCharacters)}\nSalt,3\n`;

    await expect(read(content, undefined, undefined, 65_536)).rejects.toThrow(/^Line 3 has more than .*not closed/);
  });

  it('warns about columns of a CSV file that the table lacks, except system columns of an export', async () => {
    const ignored = new IgnoredColumns();

    const rows = await read('id,name,colour,createdAt,updatedAt\n7,Tea,green,2024,2024\n', 'text/csv', ignored);

    expect(rows).toEqual([{ location: 'Line 2', row: { name: 'Tea' } }]);
    expect(ignored.warnings).toEqual(['colour is not a column of this table and was ignored.']);
  });

  it.each([
    ['has no column of the table', 'colour;size2\n', /names no column of this table.*name, price, sold.*semicolons/],
    ['has a column twice', 'name,price,name\n', /name twice/],
    ['has a column twice in another case', 'NAME,price,Name\n', /name twice/],
    ['declares another delimiter than it has', 'sep=;\nname,price\n', /header names no column.*separated by ";"/],
    ['is empty', ' \n', /empty/],
    ['is no text', Buffer.concat([Buffer.from('name\n'), Buffer.alloc(50, 0x81)]), /encoding of the file is unknown/],
    ['ends within a character', Buffer.from('name\nMü').subarray(0, -1), /UTF-8/],
    [
      'changes its encoding',
      Buffer.concat([Buffer.from(`name\n${'Mü\n'.repeat(100_000)}`), Buffer.from([0xfc])]),
      /UTF-8/,
    ],
  ])('rejects a CSV file that %s', async (_what, content, reason) => {
    await expect(read(content)).rejects.toThrow(reason);
  });
});

describe('A JSON file', () => {
  it('reads a JSON array with elements in one line or many', async () => {
    const rows = await read('\n [{"name":"a,]}\\"{","price":1},{"size":{"w":[{}]}}\n,\n{"name":null}]\n');

    expect(rows).toEqual([
      { location: 'Row 1 (up to line 2)', row: { name: 'a,]}"{', price: 1 } },
      { location: 'Row 2 (up to line 3)', row: { size: { w: [{}] } } },
      { location: 'Row 3 (up to line 4)', row: { name: null } },
    ]);
  });

  it('reads a JSON file with an object per line', async () => {
    const rows = await read('{"name":"Tea"}\r\n\n{"name":"Milk"}');

    expect(rows).toEqual([
      { location: 'Line 1', row: { name: 'Tea' } },
      { location: 'Line 3', row: { name: 'Milk' } },
    ]);
  });

  it.each([
    ['array', '[{"name":"Tea"},{name:1},7,{"name":"Milk"}]'],
    ['lines', '{"name":"Tea"}\n{name:1}\n7\n{"name":"Milk"}\n'],
  ])('continues after invalid rows of a JSON file (%s)', async (_shape, content) => {
    const rows = await read(content);

    expect(rows).toMatchObject([
      { row: { name: 'Tea' } },
      { problem: expect.stringContaining('is not valid JSON') as string },
      { problem: expect.stringContaining('must be an object') as string },
      { row: { name: 'Milk' } },
    ]);
  });

  it.each([
    ['array', (long: string) => `[{"name":"${long}"},{"name":"Tea"}]`],
    ['lines', (long: string) => `{"name":"${long}"}\n{"name":"Tea"}`],
  ])('continues after a row of a JSON file that is too long (%s)', async (_shape, content) => {
    const rows = await read(content('x'.repeat(maxRowCharacters)), undefined, undefined, 65_536);

    expect(rows).toMatchObject([
      { problem: `has more than ${maxRowCharacters} characters.` },
      { row: { name: 'Tea' } },
    ]);
  });

  it('reads an empty JSON array', async () => {
    await expect(read('[ ]')).resolves.toEqual([]);
  });

  it('warns about columns of a JSON file that the table lacks', async () => {
    const ignored = new IgnoredColumns();

    await read('[{"id":1,"colour":1,"__proto__":{"a":1}},{"colour":2}]', undefined, ignored);

    expect(ignored.warnings).toEqual([
      'colour is not a column of this table and was ignored.',
      '__proto__ is not a column of this table and was ignored.',
    ]);
  });

  it.each([
    ['is cut off', '[{"name":"Tea"},{"na', /not closed.*after row 1/],
    ['goes on after its array', '[]\n[]', /after the end of the array in line 2/],
  ])('rejects a JSON file that %s', async (_what, content, reason) => {
    await expect(read(content)).rejects.toThrow(reason);
  });
});

it('parses a long text of CSV in short pieces', async () => {
  const transform = jest.spyOn(Parser.prototype, '_transform' as never);
  const rows = 10_000;

  const found = await read(`name\n${'Tea,too many\n'.repeat(rows)}`, 'text/csv', undefined, 1_000_000);

  const pieces = (transform.mock.calls as unknown as [string][]).map(([piece]) => piece.length);
  transform.mockRestore();
  expect(found).toHaveLength(rows);
  expect(pieces.length).toBeGreaterThan(10);
  expect(Math.max(...pieces)).toBeLessThanOrEqual(4_096);
});

it.each([0, 1])('keeps each character of a long text of CSV, which begins %i letters later', async (letters) => {
  const name = `${'x'.repeat(letters)}${'😀'.repeat(10_000)}`;

  expect(await read(`name\n${name}\n`, 'text/csv', undefined, 1_000_000)).toEqual([
    expect.objectContaining({ row: { name } }),
  ]);
});

describe('The encoding of a file', () => {
  const rows = Array.from(
    { length: 300 },
    (_, i) => `Kunde ${i}${i % 50 === 7 ? ' aus Köln, geschäftlich für Grün & Söhne' : ''}`,
  );
  const text = `name\r\n${rows.map((row) => `"${row}"\r\n`).join('')}`;

  it.each<[string, Buffer]>([
    ['UTF-8 with a mark', Buffer.from(`\uFEFF${text}`)],
    ['UTF-16 with a mark', Buffer.from(`\uFEFF${text}`, 'utf16le')],
    ['big endian UTF-16 with a mark', Buffer.from(`\uFEFF${text}`, 'utf16le').swap16()],
    ['UTF-16 without a mark', Buffer.from(text, 'utf16le')],
    ['windows-1252', Buffer.from(text, 'latin1')],
  ])('reads %s, in chunks of any size', async (_name, content) => {
    for (const size of [7, 4_096, 1_000_000]) {
      const found = await read(content, 'text/csv', undefined, size);

      expect(found.map((row) => ('row' in row ? row.row.name : row))).toEqual(rows);
    }
  });

  it.each([
    ['windows-1254', 'dağ'],
    ['iso-8859-1', 'dað'],
  ])('follows a declared charset that makes sense: %s', async (charset, name) => {
    const text = unpackedText(chunksOf(Buffer.from('name\nda\xf0\n', 'latin1')), unpackingLimits, charset);

    expect(await all(readRows(text, 'text/csv', columns, new IgnoredColumns()))).toMatchObject([{ row: { name } }]);
  });

  it('detects the encoding from the first bytes that are not ASCII, far behind the start', async () => {
    const content = Buffer.from(`name\n${'tea\n'.repeat(50_000)}Müsli für größere Bären\n`, 'latin1');

    expect((await read(content, 'text/csv', undefined, 65_537)).at(-1)).toMatchObject({
      row: { name: 'Müsli für größere Bären' },
    });
  });
});

describe('The format of a file', () => {
  it.each([
    ['text/csv; charset=utf-8', '{name},price\n1,2\n', { price: 2 }],
    ['application/json', '[{"price":2}]', { price: 2 }],
    ['application/x-ndjson', '{"price":2}', { price: 2 }],
    ['text/plain', '[{"price":2}]', { price: 2 }],
    ['application/gzip', 'price\n2\n', { price: 2 }],
  ])('detects the format of a file from %s and the first character', async (contentType, content, row) => {
    await expect(read(content, contentType)).resolves.toMatchObject([{ row }]);
  });

  it('rejects a file with the content type JSON whose content is not', async () => {
    await expect(read('name,price\n', 'application/json')).rejects.toThrow(/begins with neither/);
  });
});

describe('A packed file', () => {
  it('recognizes a packed file by its first bytes, also when they arrive one by one', async () => {
    const rows = await read(gzipSync('name\nTea\n'), 'text/csv', undefined, 1);

    expect(rows).toEqual([{ location: 'Line 2', row: { name: 'Tea' } }]);
  });

  it('rejects a truncated packed file', async () => {
    const packed = gzipSync('name\n' + 'Tea\n'.repeat(1000));

    await expect(read(packed.subarray(0, -10))).rejects.toThrow(/damaged or cut off/);
  });

  it.each([
    ['in all', { ...unpackingLimits, maxBytes: 999_999 }, /more than 999999 bytes/],
    ['for its size', { ...unpackingLimits, unsuspiciousBytes: 100_000 }, /300 times its size/],
  ])('rejects a file that unpacks to too much %s, before all of it is unpacked', async (_what, limits, reason) => {
    let unpacked = 0;
    const unpacking = async () => {
      for await (const text of unpackedText(chunksOf(gzipSync('x'.repeat(20_000_000)), 16_384), limits)) {
        unpacked += text.length;
      }
    };

    await expect(unpacking()).rejects.toThrow(reason);
    expect(unpacked).toBeLessThan(2_000_000);
  });

  it('reports a failure of the source of a packed file', async () => {
    async function* broken() {
      yield gzipSync('name\n').subarray(0, 12);
      throw new Error('The connection was cut.');
    }

    await expect(all(unpackedText(broken()))).rejects.toThrow('The connection was cut.');
  });
});

describe('A written file', () => {
  const row = fc.record({
    name: fc.option(fc.string({ minLength: 1, unit: 'grapheme' })),
    price: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }).map((price) => price + 0)),
    sold: fc.option(fc.boolean()),
    tags: fc.option(fc.array(fc.jsonValue())),
    size: fc.option(fc.dictionary(fc.string(), fc.jsonValue())),
  });

  it.each(['csv', 'json'] as const)('reads the same rows from a written file (%s)', async (format) => {
    const names = ['id', ...columns.keys(), 'createdAt'];
    const noValues = Object.fromEntries([...columns.keys()].map((name) => [name, null]));

    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 5 }), fc.integer({ min: 1, max: 50 }), async (rows, chunkSize) => {
        const shown = rows.map((values, id) => ({ id, ...values, createdAt: '2024-01-01T00:00:00.000Z' }));
        const content = await written(format, names, shown.slice(0, 2), shown.slice(2));

        const again = await read(content, contentTypes[format], undefined, chunkSize);

        const values = again.map((entry) => ({ ...noValues, ...('row' in entry ? entry.row : {}) }));
        expect(values).toEqual(JSON.parse(JSON.stringify(rows)));
      }),
    );
  });

  it('writes the given columns in order', async () => {
    const rows = [{ price: 1.5, name: '=1+1', id: 3, other: true }];

    await expect(written('csv', ['id', 'name', 'price', 'sold'], rows)).resolves.toBe(
      'id,name,price,sold\n3,=1+1,1.5,\n',
    );
    await expect(written('json', ['id', 'name', 'price', 'sold'], rows)).resolves.toBe(
      '[\n{"id":3,"name":"=1+1","price":1.5,"sold":null}\n]\n',
    );
  });

  it('writes a valid file without rows', async () => {
    await expect(written('csv', ['id', 'name'])).resolves.toBe('id,name\n');
    await expect(written('json', ['id', 'name'], [])).resolves.toBe('[]\n');
  });
});
