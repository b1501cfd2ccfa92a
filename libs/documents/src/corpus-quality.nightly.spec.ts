import { parseDocument } from './parse-document';
import { chooseFormat } from './choose-format';
import { ocrParser } from './read-by-ocr';
import { contents, referenceOf } from './test/corpus-content';
import { pdfOfPages, scanOf, tiffOfScans } from './test/scan-of';
import { scoresOf } from './test/token-scores';

const languages = [{ name: 'eng', file: require.resolve('@tesseract.js-data/eng/4.0.0_best_int/eng.traineddata.gz') }];
const reference = referenceOf(contents['mill']!, ['margins', 'numbers']).replaceAll('’', "'").replaceAll('–', '-');
const lines = reference.split('\n').flatMap((line) => line.match(/.{1,70}(?:\s|$)/g)!.map((part) => part.trim()));

it.each<[string, () => Promise<Buffer>]>([
  ['clean.png', () => scanOf(lines)],
  ['tilted.png', () => scanOf(lines, { degrees: 3 })],
  ['specks.png', () => scanOf(lines, { noise: 0.05 })],
  ['photo.jpg', () => scanOf(lines, { format: 'jpeg' })],
  ['small.webp', () => scanOf(lines, { format: 'webp' })],
  ['fax.tiff', async () => tiffOfScans([await scanOf(lines.slice(0, 8)), await scanOf(lines.slice(8))])],
  ['archive.pdf', async () => pdfOfPages([await scanOf(lines, { format: 'jpeg' })])],
])('reads the words of %s in their order', async (key, write) => {
  const source = { bytes: await write(), contentType: 'application/octet-stream', key };
  const texts: string[] = [];
  for await (const { text } of parseDocument(source, ocrParser(await chooseFormat(source), { languages })))
    texts.push(text);

  const { recall, precision, order } = scoresOf(texts.join('\n'), reference);
  expect([recall > 0.97, precision > 0.97, order > 0.97]).toEqual([true, true, true]);
});
