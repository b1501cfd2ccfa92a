import type { Block } from './block';
import { likeliestDelimiter, parseCsv, parseTsv } from './parse-csv';

async function parse(slices: string[], read = parseCsv) {
  const blocks: Block[] = [];
  for await (const block of read(slices)) blocks.push(block);
  return blocks;
}

it('reads rows of CSV and their header, with line ends and quotes in quoted cells', async () => {
  const csv = 'Name,Note\nTea,"hot, and\nsweet"\nCake,"he said ""more"""\n\n ,\n';

  expect(await parse([csv])).toEqual([
    { type: 'table', text: 'Name | Note\nTea | hot, and sweet\nCake | he said "more"', headerLines: 1 },
  ]);
});

it.each([
  ['a;b\n1,5;2\n', 'a | b\n1,5 | 2'],
  ['a\tb, c\n1\t2\n', 'a | b, c\n1 | 2'],
  ['a|b\n1|2\n', 'a | b\n1 | 2'],
  ['only\none\n', 'only\none'],
  ['Comment\nHello, world\nI like it, really, much\nfoo\n', 'Comment\nHello, world\nI like it, really, much\nfoo'],
  ['Sales of 2024\na;b\n1,5;2\n3;4,5\n', 'Sales of 2024\na | b\n1,5 | 2\n3 | 4,5'],
  ['sep=;\na;b, c\n1;2, 3\n', 'a | b, c\n1 | 2, 3'],
  ['SEP=\t\na\tb\n', 'a | b'],
])('detects the delimiter of %j', async (csv, text) => {
  expect(await parse([csv])).toMatchObject([{ text }]);
});

it('ignores delimiters in quotes when it detects the delimiter', () => {
  expect(likeliestDelimiter('a;b\n"1,2,3";4\n')).toBe(';');
});

it('keeps all cells of CSV rows of different lengths', async () => {
  expect(await parse(['a,b\n1\n1,2,3\n'])).toMatchObject([{ text: 'a | b\n1\n1 | 2 | 3' }]);
});

it('treats a first row with numbers as data', async () => {
  expect(await parse(['2024,12.5\n2025,13\n'])).toMatchObject([{ headerLines: 0 }]);
});

// Regression: a regex with catastrophic backtracking would take hours.
it('does not take a cell of 500,000 spaces for a number', async () => {
  expect(await parse([`1${' '.repeat(500_000)}x,y\n1,2\n`])).toMatchObject([{ headerLines: 1 }]);
});

it.each([
  ['CSV', parseCsv, 'Name;Größe\n', 'Äpfel;"1\n2"\nBirnen;"a;b"\n'],
  ['TSV', parseTsv, 'Name\tGröße\n', 'Äpfel\t"1\t""2"""\n"Birnen\ta\n'],
])('reads %s the same for any slice size', async (_, read, header, rows) => {
  for (const size of [1, 2, 3, 7]) {
    const slices = Array.from({ length: Math.ceil(rows.length / size) }, (_, i) =>
      rows.slice(i * size, (i + 1) * size),
    );
    expect(await parse([header, ...slices], read)).toEqual(await parse([header + rows], read));
  }
});

it('splits a long table into blocks that repeat the header, and keeps every row once', async () => {
  const rows = Array.from({ length: 50_000 }, (_, i) => `row ${i},value ${i}`);

  const blocks = await parse([`Name,Value\n${rows.join('\n')}`]);

  expect(blocks.length).toBeGreaterThan(2);
  expect(blocks.every(({ text }) => text.startsWith('Name | Value\n'))).toBe(true);
  expect(blocks.flatMap(({ text }) => text.split('\n').slice(1))).toEqual(rows.map((row) => row.replace(',', ' | ')));
});

it('reports the line of a quote that is never closed', async () => {
  await expect(parse(['a,b\n"1,2\n3,4\n'])).rejects.toThrow(/quote.*never closed.*Save the table/);
});

describe('with tabs', () => {
  it.each([
    ['is never closed', 'title\tyear\n"Alien\t1979\nHeat\t1995\n', 'title | year\n"Alien | 1979\nHeat | 1995'],
    [
      'begins cells of several rows',
      'title\tyear\n"Alien\t1979\nHeat\t1995\n"Brazil\t1985\n',
      'title | year\n"Alien | 1979\nHeat | 1995\n"Brazil | 1985',
    ],
    ['is closed on another line', 'a\t"b\nc"\td\n', 'a | "b\nc" | d'],
    ['is closed before the end of its cell', '"Heat" (1995)\t"x\n', '"Heat" (1995) | "x'],
    ['stands within a cell', '6" nail\t5\'10"\n', '6" nail | 5\'10"'],
  ])('keeps a quote between tabs that %s as a character', async (_, tsv, text) => {
    expect(await parse([tsv], parseTsv)).toMatchObject([{ text }]);
  });

  it('reads quoted cells with tabs, as Excel writes them', async () => {
    const tsv = '""\t"Name"\tSize\n1\t"a ""b"""\t"c\td"\n\n2\t"""e"""\t""\n';

    expect(await parse([tsv], parseTsv)).toMatchObject([{ text: '| Name | Size\n1 | a "b" | c d\n2 | "e" |' }]);
  });

  it('uses the declared delimiter, with quotes as in CSV', async () => {
    expect(await parse(['sep=;\na;"b\nc"\n'], parseTsv)).toMatchObject([{ text: 'a | b c' }]);
  });

  it('reads a line with millions of quotes', async () => {
    const line = `"${'""'.repeat(5_000_000)}x`;
    const [{ text } = { text: '' }] = await parse([`${line}\t"y"\n`], parseTsv);

    expect(text === `${line} | y`).toBe(true);
  });
});
