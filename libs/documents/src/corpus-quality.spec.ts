import { extname } from 'node:path';
import { expectGenerated } from '@parley/testing/generated-text';
import { chooseFormat } from './choose-format';
import { formats } from './formats';
import { blocksOf } from './test/blocks-of';
import { type CorpusDocument, corpusDocuments } from './test/corpus-writers';
import { type Scores, scoresOf } from './test/token-scores';

interface Row extends Scores {
  files: number;
}

/** Least recall, precision and order by extension: just below those of docs/formats.md. */
const floors: Record<string, [recall: number, precision: number, order: number]> = {
  '.csv': [0.99, 0.99, 0.99],
  '.doc': [0.99, 0.99, 0.99],
  '.docx': [0.99, 0.99, 0.99],
  '.eml': [0.99, 0.99, 0.99],
  '.epub': [0.99, 0.99, 0.99],
  '.html': [0.99, 0.99, 0.99],
  '.ics': [0.99, 0.99, 0.99],
  '.ipynb': [0.99, 0.98, 0.99],
  '.json': [0.99, 0.92, 0.99],
  '.jsonl': [0.99, 0.99, 0.99],
  '.md': [0.99, 0.99, 0.99],
  '.mdx': [0.99, 0.99, 0.99],
  '.msg': [0.99, 0.99, 0.99],
  '.odp': [0.99, 0.99, 0.99],
  '.ods': [0.88, 0.94, 0.99],
  '.odt': [0.99, 0.99, 0.98],
  '.pdf': [0.99, 0.98, 0.99],
  '.ppt': [0.99, 0.99, 0.99],
  '.pptx': [0.99, 0.99, 0.99],
  '.py': [0.99, 0.99, 0.99],
  '.rtf': [0.99, 0.99, 0.99],
  '.sql': [0.99, 0.99, 0.99],
  '.tsv': [0.99, 0.99, 0.99],
  '.txt': [0.99, 0.99, 0.99],
  '.xhtml': [0.99, 0.99, 0.99],
  '.xls': [0.99, 0.99, 0.99],
  '.xlsb': [0.99, 0.99, 0.99],
  '.xlsx': [0.99, 0.99, 0.98],
  '.xml': [0.97, 0.99, 0.99],
};

const documents = corpusDocuments();
const rows = new Map<string, Row>();

beforeAll(async () => {
  const byKind = Map.groupBy(documents, ({ file }) => extname(file));
  for (const [extension, files] of byKind) {
    const scores = await Promise.all(files.map(scoresOfDocument));
    const mean = (key: keyof Scores) => scores.reduce((sum, each) => sum + each[key], 0) / scores.length;
    rows.set(extension, {
      files: files.length,
      recall: mean('recall'),
      precision: mean('precision'),
      order: mean('order'),
    });
  }
});

it('compares 120 documents, and some of each format', async () => {
  const found = new Set<string>();
  for (const { file, bytes } of documents) {
    found.add((await chooseFormat({ bytes, contentType: 'application/octet-stream', key: file })).name);
  }

  expect(documents.length).toBeGreaterThanOrEqual(120);
  // Pictures: corpus-quality.nightly.spec.ts.
  expect([...found, 'picture'].toSorted()).toEqual(formats.map(({ name }) => name).toSorted());
  expect([...rows.keys()].toSorted()).toEqual(Object.keys(floors).toSorted());
});

it.each(Object.entries(floors))(
  'reads %s files with recall, precision and order of at least %j',
  (extension, least) => {
    const { recall, precision, order } = rows.get(extension)!;

    expect([recall, precision, order].map((value, i) => value >= least[i]!)).toEqual([true, true, true]);
  },
);

it('shows the figures in docs/formats.md', () => {
  const lines = [...rows]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([extension, { files, ...scores }]) => {
      const figures = [scores.recall, scores.precision, scores.order].map((value) => value.toFixed(3));
      return `| \`${extension}\` | ${[files, ...figures].join(' | ')} |`;
    });
  const head = ['| files | number | recall | precision | order |', '| --- | --- | --- | --- | --- |'];

  expectGenerated('docs/formats.md', [...head, ...lines].join('\n'), 'figures');
});

it.each<[string, string, string, Scores]>([
  ['the same text', 'to be or not', 'to be or not', { recall: 1, precision: 1, order: 1 }],
  ['a lost half', 'a b', 'a b c d', { recall: 0.5, precision: 1, order: 1 }],
  ['something doubled', 'a b b', 'a b', { recall: 1, precision: 2 / 3, order: 1 }],
  ['a line at another place', 'd a b c', 'a b c d', { recall: 1, precision: 1, order: 3 / 4 }],
  ['words of scripts without spaces', '港は六時。', '港は六', { recall: 1, precision: 3 / 4, order: 1 }],
])('scores %s', (_, read, reference, scores) => {
  expect(scoresOf(read, reference)).toEqual(scores);
});

async function scoresOfDocument({ file, bytes, reference }: CorpusDocument): Promise<Scores> {
  const blocks = await blocksOf(bytes, file);
  return scoresOf(blocks.map(({ text }) => text).join('\n'), reference);
}
