import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UnreadableDocument } from './block';
import { chooseFormat } from './choose-format';
import { formats } from './formats';
import { noFormat, readerVersions } from './reader-versions';
import { blocksOf } from './test/blocks-of';

// `UPDATE_READERS=1 npx jest libs/documents/src/reader-versions` records outputs after a version was raised.

interface Recorded {
  version: number;
  /** Hash of what the reader gives, by document. */
  outputs: Record<string, string>;
}

const folder = 'test/fixtures/documents';
const recordedFile = join(__dirname, 'test/reader-outputs.json');
/** Documents of formats without a fixture. */
const samples: Record<string, string | Buffer> = {
  'dot.png': Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAWk1v8QAAAABJRU5ErkJggg==',
    'base64',
  ),
  'pool.xhtml': '<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>Pool</h1><p>Open at six.</p></body></html>',
  'log.ipynb': JSON.stringify({
    nbformat: 4,
    cells: [
      { cell_type: 'markdown', source: ['# Tides\n', 'High at noon.'] },
      { cell_type: 'code', source: 'level(3)', outputs: [{ output_type: 'stream', text: ['4.5 m\n'] }] },
    ],
  }),
  'meeting.ics':
    'BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Crew meeting\r\nDTSTART:20250301T080000Z\r\nLOCATION:Pier 3\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n',
};

function documents(): [name: string, bytes: Buffer][] {
  return [
    ...readdirSync(folder).map((name): [string, Buffer] => [name, readFileSync(join(folder, name))]),
    ...Object.entries(samples).map(([name, content]): [string, Buffer] => [name, Buffer.from(content)]),
  ];
}

const hashOf = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);

/** Blocks, or the reason of a refusal. */
async function outputOf(bytes: Buffer, key: string): Promise<unknown> {
  try {
    return await blocksOf(bytes, key);
  } catch (error) {
    if (error instanceof UnreadableDocument) return error.message;
    throw error;
  }
}

async function readAll(): Promise<Record<string, Recorded>> {
  const chosen = formats.map(({ name, contentTypes, extensions }) => ({ name, contentTypes, extensions }));
  const all: Record<string, Recorded> = {
    [noFormat]: { version: readerVersions[noFormat]!, outputs: { formats: hashOf(chosen) } },
  };
  for (const [key, bytes] of documents()) {
    const { name } = await chooseFormat({ bytes, contentType: 'application/octet-stream', key });
    all[name] ??= { version: readerVersions[name]!, outputs: {} };
    all[name].outputs[key] = hashOf(await outputOf(bytes, key));
  }
  return all;
}

/** Formats with another output for a document than the recorded one, and the same version. */
function listUnraised(recorded: Record<string, Recorded>, now: Record<string, Recorded>): string[] {
  return Object.entries(now).flatMap(([format, { version, outputs }]) => {
    const former = recorded[format];
    const changed = Object.keys(outputs).filter((key) => (former?.outputs[key] ?? outputs[key]) !== outputs[key]);
    return changed.length > 0 && version <= former!.version ? [`${format}: ${changed.join(', ')}`] : [];
  });
}

const readRecorded = () =>
  (existsSync(recordedFile) ? JSON.parse(readFileSync(recordedFile, 'utf8')) : {}) as Record<string, Recorded>;

it('finds a version and a document for each format', async () => {
  expect(Object.keys(readerVersions).toSorted()).toEqual([noFormat, ...formats.map(({ name }) => name)].toSorted());
  expect(Object.keys(await readAll()).toSorted()).toEqual(Object.keys(readerVersions).toSorted());
});

it('raises the version of a reader whose output changes', async () => {
  const now = await readAll();
  const recorded = readRecorded();

  expect(listUnraised(recorded, now)).toEqual([]);
  if (process.env['UPDATE_READERS']) writeFileSync(recordedFile, `${JSON.stringify(now, null, 2)}\n`);
  expect(readRecorded()).toEqual(now);
});

it.each([
  ['a changed output under the same version', 1, 'b', ['CSV: a.csv']],
  ['a changed output under a former version', 0, 'b', ['CSV: a.csv']],
  ['a changed output under a new version', 2, 'b', []],
  ['the same output', 1, 'a', []],
])('tells %s', (_what, version, output, expected) => {
  const recorded = { CSV: { version: 1, outputs: { 'a.csv': 'a' } } };
  const now = { CSV: { version, outputs: { 'a.csv': output, 'new.csv': 'n' } } };

  expect(listUnraised(recorded, now)).toEqual(expected);
});
