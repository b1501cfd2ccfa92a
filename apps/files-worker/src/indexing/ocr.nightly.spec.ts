// Takes two minutes: whole pages at the limits of OCR, in a reader with its least memory.
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { UnreadableDocument } from '@parley/documents/block';
import { pdfOfPages, scanOf, type ScanOptions } from '@parley/documents/test/scan-of';
import { DocumentReaderService } from './document-reader.service';

jest.mock('@parley/background/memory-limit', () => ({ memoryLimitBytes: () => 2 ** 30 }));

jest.mock('@parley/documents/limits', () => ({
  ...jest.requireActual<object>('@parley/documents/limits'),
  ocrProcessorMs: 100,
}));

const ocr = [{ name: 'eng', file: require.resolve('@tesseract.js-data/eng/4.0.0_best_int/eng.traineddata.gz') }];
const section = [
  'Rules of the Canal Company for the Passage of Barges',
  'The master of every barge shall report at the lock house before noon and',
  'shall pay the toll of 14 shillings for each ton of cargo above 25 tons.',
  'No barge may moor within 80 yards of a bridge between sunset and sunrise,',
  'unless the keeper of the bridge has given leave in writing. Horses are led',
  'on the eastern path only. A driver who leaves his horse without a guard is',
  'fined 5 shillings, half of which goes to the informer.',
  'Complaints about the depth of water at Hollowell (4 feet 2 inches instead',
  'of 5 feet) were answered by dredging, which cost 3,480 pounds.',
  '',
];
const lines = [...section, ...section, ...section, ...section];
const words = lines.join(' ').trim().split(/\s+/);
const a4 = { width: 2480, height: 3508 };
const a4At600 = { width: 4960, height: 7016 };
const reader = new DocumentReaderService();
afterAll(() => reader.onApplicationShutdown());

async function read(bytes: Buffer, contentType: string): Promise<{ text: string; peakMb: number }> {
  const task = { sizeBytes: bytes.length, contentType, key: 'a', maximumLength: 5_000, ocr };
  const chunks: string[] = [];
  let peakMb = 0;
  for await (const batch of reader.read(task, Readable.from([bytes]), new AbortController().signal)) {
    chunks.push(...batch.chunks.map(({ content }) => content));
    peakMb = Math.max(peakMb, ...readersIn(reader).map(peakMbOf));
  }
  return { text: chunks.join('\n'), peakMb };
}

function readersIn(service: DocumentReaderService): number[] {
  const { ocrPool } = service as unknown as { ocrPool: { all: Set<{ pid: number }> } };
  return Array.from(ocrPool.all, ({ pid }) => pid);
}

function peakMbOf(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** Share of words that are read wrongly, as the least number of changes. */
function wrongWords(text: string): number {
  const found = text.split(/\s+/);
  let before = Array.from({ length: found.length + 1 }, (_, i) => i);
  for (const [i, word] of words.entries()) {
    const now = [i + 1];
    for (const [j, other] of found.entries())
      now.push(Math.min(before[j + 1]! + 1, now[j]! + 1, before[j]! + (word === other ? 0 : 1)));
    before = now;
  }
  return before.at(-1)! / words.length;
}

it.each<[string, ScanOptions, number]>([
  ['a clean page', { paper: a4 }, 0.005],
  ['a page tilted by 2 degrees', { paper: a4, degrees: 2 }, 0.005],
  ['a page tilted by 5 degrees', { paper: a4, degrees: 5 }, 0.01],
  ['a page of which 2 % are specks', { paper: a4, noise: 0.02 }, 0.01],
  ['a page of which 5 % are specks', { paper: a4, noise: 0.05 }, 0.02],
  ['a page of which 10 % are specks', { paper: a4, noise: 0.1 }, 0.1],
  ['a page of 35 million pixels', { paper: a4At600, format: 'jpeg' }, 0.01],
])('reads %s', async (what, options, most) => {
  const bytes = await scanOf(lines, options);

  const { text, peakMb } = await read(bytes, options.format === 'jpeg' ? 'image/jpeg' : 'image/png');

  process.stdout.write(
    `${what}: ${(100 * wrongWords(text)).toFixed(1)} % of words are wrong, ${peakMb.toFixed()} MiB\n`,
  );
  expect(wrongWords(text)).toBeLessThanOrEqual(most);
});

it('reads a PDF of scans in colour at 300 dpi', async () => {
  const scan = await scanOf(lines, { paper: a4, format: 'jpeg' });

  const { text, peakMb } = await read(pdfOfPages([scan, scan, scan]), 'application/pdf');

  process.stdout.write(`PDF of scans: ${peakMb.toFixed()} MiB\n`);
  expect(text.match(/Hollowell \(4 feet 2 inches/g)).toHaveLength(12);
});

it('says how much memory a PDF of scans in colour at 600 dpi lacks', async () => {
  const scan = await scanOf(lines, { paper: a4At600, format: 'jpeg' });

  await expect(read(pdfOfPages([scan]), 'application/pdf')).rejects.toThrow(/takes more than 432 MB of memory to read/);
});

it('ends a reader for more processor time than the pages may take', async () => {
  const bytes = await scanOf(lines, { paper: a4 });
  const task = { sizeBytes: bytes.length, contentType: 'image/png', key: 'a', maximumLength: 5_000, ocr };

  const reading = reader.read(task, Readable.from([bytes]), new AbortController().signal, { processorMs: 300 });

  const first = reading.getReader().read();
  await expect(first).rejects.toThrow(UnreadableDocument);
  await expect(first).rejects.toThrow(/takes more than 0\.[34] s of processor time/);
});
