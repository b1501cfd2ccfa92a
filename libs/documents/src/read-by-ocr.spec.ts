import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Block, UnreadableDocument } from './block';
import { chooseFormat } from './choose-format';
import { parseDocument } from './parse-document';
import { parsePdfPages } from './parse-pdf';
import { type OcrPage, ocrParser } from './read-by-ocr';
import { pdfOf } from '@parley/testing/pdf';
import { pdfOfPages, scanOf, type ScanOptions, tiffOfScans } from './test/scan-of';

const languages = [{ name: 'eng', file: require.resolve('@tesseract.js-data/eng/4.0.0_best_int/eng.traineddata.gz') }];
const lines = [
  'The master of every barge shall report at the lock house before noon and',
  'shall pay a toll of 14 shillings for each ton of cargo above 25 tons. A bar-',
  'gee who leaves his horse without a guard is fined 5 shillings, half of which',
  'goes to Mr. Whitcombe, the engineer. Repairs begin on 30 November 1862.',
];
const text = lines.join('\n').replace('bar-\ngee ', 'bargee\n');
const short = ['Coal made up 61 % of the freight.'];

interface Reading {
  blocks: Block[];
  pages: OcrPage[];
}

async function read(bytes: Buffer, key: string): Promise<Reading> {
  const source = { bytes, contentType: 'application/octet-stream', key };
  const pages: OcrPage[] = [];
  const parse = ocrParser(await chooseFormat(source), { languages, onPage: (page) => pages.push(page) });
  const blocks: Block[] = [];
  for await (const block of parseDocument(source, parse)) blocks.push(block);
  return { blocks, pages };
}

/** Share of words that are not read as they are written. */
function wrongWords(found: string): number {
  const written = text.split(/\s+/);
  const words = new Set(found.split(/\s+/));
  return written.filter((word) => !words.has(word)).length / written.length;
}

it.each<[string, ScanOptions, number]>([
  ['a clean scan', {}, 0],
  ['a scan that is tilted by 2 degrees', { degrees: 2 }, 0],
  ['a scan of which 10 % are specks', { noise: 0.1 }, 0.1],
])('reads the words of %s', async (_what, options, most) => {
  const { blocks, pages } = await read(await scanOf(lines, options), 'scan.png');

  expect(wrongWords(blocks.map((block) => block.text).join('\n'))).toBeLessThanOrEqual(most);
  expect(blocks.every(({ isRecognised, pageNumber }) => isRecognised && pageNumber === undefined)).toBe(true);
  expect(pages).toEqual([{ page: 1, of: 1 }]);
});

it('keeps the lines of a paragraph, and joins a word that is divided between them', async () => {
  const { blocks } = await read(await scanOf(lines), 'scan.png');

  expect(blocks.map((block) => block.text)).toEqual([text]);
});

it.each<[string, NonNullable<ScanOptions['format']>]>([
  ['photo.jpg', 'jpeg'],
  ['photo.webp', 'webp'],
])('reads %s', async (key, format) => {
  const { blocks } = await read(await scanOf(short, { format }), key);

  expect(blocks).toMatchObject([{ type: 'paragraph', text: short[0], isRecognised: true }]);
});

it('reads the pages of a TIFF in their order', async () => {
  const scans = await Promise.all([scanOf(short), scanOf(['The second page of the fax.'])]);

  const { blocks, pages } = await read(await tiffOfScans(scans), 'fax.tif');

  expect(blocks.map((block) => [block.pageNumber, block.text])).toEqual([
    [1, short[0]],
    [2, 'The second page of the fax.'],
  ]);
  expect(pages).toEqual([
    { page: 1, of: 2 },
    { page: 2, of: 2 },
  ]);
});

it('reads by OCR only the pages of a PDF that have no text, at their place', async () => {
  const scan = await scanOf(short, { format: 'jpeg' });
  const pdf = pdfOfPages(['Written before.', scan, 'Written after.', scan]);

  const { blocks, pages } = await read(pdf, 'mixed.pdf');

  expect(blocks.map((block) => [block.pageNumber, block.text, block.isRecognised])).toEqual([
    [1, 'Written before.', undefined],
    [2, short[0], true],
    [3, 'Written after.', undefined],
    [4, short[0], true],
  ]);
  expect(pages).toEqual([
    { page: 1, of: 2 },
    { page: 2, of: 2 },
  ]);
});

it('counts pages that have nothing but a running line as pages without text', async () => {
  const stamp = { text: 'Scanned with a telephone', x: 60, y: 30 };
  const written = { text: 'The words of a page that has some.', x: 60, y: 600 };

  const { pagesWithoutText } = await parsePdfPages(pdfOf([[stamp], [stamp], [written, stamp], [stamp], []]));

  expect(pagesWithoutText).toEqual([1, 2, 4, 5]);
});

it('finds no text on blank pages, and says so', async () => {
  await expect(read(pdfOf([[], []]), 'blank.pdf')).rejects.toThrow(/has no text, and OCR finds none on its pages/);
});

it('refuses a PDF with more than 200 pages without text before it reads one', async () => {
  await expect(read(pdfOf(Array.from({ length: 201 }, () => [])), 'long.pdf')).rejects.toThrow(
    'The PDF has more than 200 pages to be read by OCR. Split it into smaller files.',
  );
});

/** Header of a PNG, with as many pixels as it says. */
function pngHeader(width: number, height: number): Buffer {
  const header = Buffer.from('89504e470d0a1a0a0000000d4948445200000000000000000100000000deadbeef', 'hex');
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  return header;
}

it('refuses a picture of too many pixels before it decodes it', async () => {
  await expect(read(pngHeader(60_000, 60_000), 'bomb.png')).rejects.toThrow(
    'The picture has 60000 × 60000 pixels; at most 40 million can be read. Scale it down: 300 dots per inch are enough.',
  );
});

it.each([
  ['cut.png', pngHeader(100, 100)],
  ['cut.jpg', Buffer.from('ffd8ffe000104a464946', 'hex')],
  ['cut.tif', Buffer.from('49492a00ffffff7f', 'hex')],
])('refuses the damaged picture %s', async (key, bytes) => {
  await expect(read(bytes, key)).rejects.toThrow(UnreadableDocument);
  await expect(read(bytes, key)).rejects.toThrow(/The picture is damaged and cannot be read/);
});

it.each([
  ['scan.png', async () => scanOf(short)],
  ['scan.pdf', async () => readFileSync(join(__dirname, '../../../test/fixtures/documents/scanned.pdf'))],
])('says how OCR is asked for when %s is read without it', async (key, content) => {
  const source = { bytes: await content(), contentType: 'application/octet-stream', key };

  const parsed = parseDocument(source).next();

  await expect(parsed).rejects.toMatchObject({
    message: expect.stringContaining('`parsing.ocr: true`, which reads') as string,
    hasPictures: true,
  });
});
