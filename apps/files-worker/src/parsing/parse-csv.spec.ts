import type { Block } from './block';
import { likeliestDelimiter, parseCsv } from './parse-csv';

async function parse(slices: string[], delimiter?: string) {
  const blocks: Block[] = [];
  for await (const block of parseCsv(slices, delimiter)) blocks.push(block);
  return blocks;
}

it('reads rows with their header, whatever stands in quotes', async () => {
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
])('finds the delimiter of %j', async (csv, text) => {
  expect(await parse([csv])).toMatchObject([{ text }]);
});

it('does not take a delimiter in quotes for one', () => {
  expect(likeliestDelimiter('a;b\n"1,2,3";4\n')).toBe(';');
});

it('keeps all cells of ragged rows', async () => {
  expect(await parse(['a,b\n1\n1,2,3\n'])).toMatchObject([{ text: 'a | b\n1\n1 | 2 | 3' }]);
});

it('takes a first row with numbers for a row like all others', async () => {
  expect(await parse(['2024,12.5\n2025,13\n'])).toMatchObject([{ headerLines: 0 }]);
});

it('tells a cell of 200,000 spaces from a number at once', async () => {
  const started = performance.now();

  await parse([`1${' '.repeat(200_000)}x,y\n1,2\n`]);

  expect(performance.now() - started).toBeLessThan(5_000);
});

it('reads the same in slices of any size', async () => {
  const csv = 'Name;Größe\nÄpfel;"1\n2"\nBirnen;"a;b"\n';

  for (const size of [1, 2, 3, 7]) {
    const slices = Array.from({ length: Math.ceil(csv.length / size) }, (_, i) => csv.slice(i * size, (i + 1) * size));
    expect(await parse(slices, ';')).toEqual(await parse([csv], ';'));
  }
});

it('gives a long table in blocks that have the header each, and every row once', async () => {
  const rows = Array.from({ length: 50_000 }, (_, i) => `row ${i},value ${i}`);

  const blocks = await parse([`Name,Value\n${rows.join('\n')}`]);

  expect(blocks.length).toBeGreaterThan(2);
  expect(blocks.every(({ text }) => text.startsWith('Name | Value\n'))).toBe(true);
  expect(blocks.flatMap(({ text }) => text.split('\n').slice(1))).toEqual(rows.map((row) => row.replace(',', ' | ')));
});

it('says what is wrong when a quote is never closed', async () => {
  await expect(parse(['a,b\n"1,2\n3,4\n'])).rejects.toThrow(/quote.*never closed.*Save the table/);
});
