import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DrawnText, pageHeight, pdfOf } from '@parley/testing/pdf';
import { markdown } from './corpus';
import type { Result } from './result';
import { type Round, type Side, compareSpeed, alternate, timed, toRow } from './rounds';
import { openBare, type Workbench } from './workbench';

const linesOnPage = 46;
const charactersInLine = 88;
const pagesPerSecond = 75;
const margin = 72;
const lineHeight = 14;

/** Throughput of the PDF parser (pages per second) compared to bare pdfjs-dist that only extracts the text. */
export async function benchParsing(bench: Workbench): Promise<Result[]> {
  const { session, options } = bench;
  const pages = pagesOf(Math.max(20, Math.round(pagesPerSecond * options.seconds)));
  const file = join(bench.folder, 'document.pdf');
  await writeFile(file, pdfOf(pages));
  const sides = [
    await startReader(bench, 'Parley’s parser', { FILE: file, READER: 'product' }),
    await startReader(bench, 'bare pdfjs-dist', { FILE: file, READER: 'bare' }),
  ];
  const measured = await alternate(session, sides, options.rounds, (side) => measure(side, pages.length));
  return [
    {
      title: `Parsing of a PDF; ${options.rounds} rounds of ${pages.length} pages`,
      rows: sides.map((side, i) => toRow(side, measured[i]!, 'page')),
      aims: compareSpeed({ name: 'parsing / bare pdfjs-dist', atLeast: 0.8 }, measured[0]!, measured[1]!),
      notes: ['Bare: getTextContent() of each page without further processing.'],
      errors: [],
      rounds: Object.fromEntries(sides.map(({ name }, i) => [name, measured[i]!])),
    },
  ];
}

async function startReader(bench: Workbench, name: string, env: Record<string, string>): Promise<Side> {
  const { pid, url } = await openBare(bench, 'pdf-reader', env);
  return { name, url, layers: { reader: [pid] }, processes: { reader: pid } };
}

function measure(side: Side, pages: number): Promise<Round> {
  return timed(side, async () => {
    const start = performance.now();
    const response = await fetch(side.url, { method: 'POST' });
    if (!response.ok) throw new Error(`${side.name} failed: ${await response.text()}`);
    await response.arrayBuffer();
    return { count: pages, perSecond: (1000 * pages) / (performance.now() - start) };
  });
}

function pagesOf(count: number): DrawnText[][] {
  const lines = markdown(count * linesOnPage * charactersInLine)
    .split('\n')
    .flatMap(setLine);
  return Array.from({ length: count }, (_, page) =>
    lines
      .slice(page * linesOnPage, (page + 1) * linesOnPage)
      .flatMap((texts, i) => texts.map((text) => ({ ...text, y: pageHeight - margin - i * lineHeight }))),
  );
}

/** Lines on the page for one line of Markdown; an empty line stays one empty line. */
function setLine(line: string): Omit<DrawnText, 'y'>[][] {
  const [, marks, title] = /^(#+) (.*)/.exec(line) ?? [];
  if (marks && title) return [[{ text: title, x: margin, size: marks.length === 1 ? 16 : 13, font: 'bold' }]];
  if (line.startsWith('|')) {
    const cells = line.split('|').slice(1, -1);
    return [cells.map((cell, column) => ({ text: cell.trim(), x: margin + 150 * column }))];
  }
  const texts = line.match(new RegExp(`.{1,${charactersInLine}}(?: |$)`, 'g')) ?? [''];
  return texts.map((text) => [{ text, x: margin }]);
}
