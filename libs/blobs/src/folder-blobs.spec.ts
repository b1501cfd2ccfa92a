import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { BlobMissing } from './blob-store';
import { FolderBlobs } from './folder-blobs';

let folder: string;
let blobs: FolderBlobs;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-blobs-'));
  blobs = new FolderBlobs(folder);
  await blobs.ready();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function* of(...chunks: (string | Uint8Array | Error)[]): AsyncIterable<Uint8Array> {
  for (const chunk of chunks) {
    if (chunk instanceof Error) throw chunk;
    yield await Promise.resolve(Buffer.from(chunk as Uint8Array));
  }
}
const incoming = () => readdir(join(folder, 'incoming'));

it('gives back what was written, whole and in part', async () => {
  const content = randomBytes(200_000);

  await blobs.write('bot/file/1', of(content.subarray(0, 70_000), content.subarray(70_000)));

  expect((await buffer(await blobs.read('bot/file/1'))).equals(content)).toBe(true);
  const part = await buffer(await blobs.read('bot/file/1', { start: 69_999, end: 70_001 }));
  expect(part.equals(content.subarray(69_999, 70_002))).toBe(true);
});

it('keeps an empty blob', async () => {
  await blobs.write('bot/file/1', of());

  expect(await buffer(await blobs.read('bot/file/1'))).toHaveLength(0);
});

it('leaves nothing of a source that fails', async () => {
  const written = blobs.write('bot/file/1', of('half of it', new Error('cut')));

  await expect(written).rejects.toThrow('cut');
  expect(await blobs.list('bot/file')).toEqual([]);
  expect(await incoming()).toEqual([]);
});

it('shows nothing of a blob before it is whole', async () => {
  let seen: string[] | undefined;
  async function* source() {
    yield Buffer.from('first');
    seen = await blobs.list('bot/file');
    yield Buffer.from('second');
  }

  await blobs.write('bot/file/1', source());

  expect(seen).toEqual([]);
  expect(await blobs.list('bot/file')).toEqual(['1']);
});

it('keeps the blob that was there when the one that replaces it fails', async () => {
  await blobs.write('bot/file/1', of('old'));

  await expect(blobs.write('bot/file/1', of('new', new Error('cut')))).rejects.toThrow('cut');

  expect((await buffer(await blobs.read('bot/file/1'))).toString()).toBe('old');
});

it('says that a blob is missing', async () => {
  await expect(blobs.read('bot/file/1')).rejects.toBeInstanceOf(BlobMissing);
});

it.each([
  '../x',
  'bot/../../x',
  '/etc/passwd',
  'bot//x',
  'bot/',
  '',
  '.',
  'bot/x\0',
  'bot\\..\\x',
  'bot/x.y',
  'bot/\n',
])('refuses the key %j in every verb', async (key) => {
  const message = 'is no key of a blob';

  await expect(blobs.write(key, of('x'))).rejects.toThrow(message);
  await expect(blobs.read(key)).rejects.toThrow(message);
  await expect(blobs.delete(key)).rejects.toThrow(message);
  await expect(blobs.list(key)).rejects.toThrow(message);
  await expect(blobs.count(key)).rejects.toThrow(message);
  await expect(blobs.deletePrefix(key)).rejects.toThrow(message);
});

it('removes a blob and the folder that it leaves empty, and nothing else', async () => {
  await blobs.write('bot/one/1', of('1'));
  await blobs.write('bot/two/1', of('1'));
  await blobs.write('bot/two/2', of('2'));

  await blobs.delete('bot/one/1');
  await blobs.delete('bot/two/1');
  await blobs.delete('bot/two/none');

  expect(await readdir(join(folder, 'bot'))).toEqual(['two']);
  expect(await blobs.list('bot/two')).toEqual(['2']);
});

it('counts and removes what is below a prefix, and not what only begins like it', async () => {
  await blobs.write('bot/one/1', of('1'));
  await blobs.write('bot/two/1', of('1'));
  await blobs.write('bot2/one/1', of('1'));

  expect(await blobs.count('bot')).toBe(2);
  await blobs.deletePrefix('bot');
  await blobs.deletePrefix('bot');

  expect(await blobs.count('bot')).toBe(0);
  expect(await blobs.count('bot2')).toBe(1);
});

it('keeps each write either whole or not at all while its prefix is removed over and over', async () => {
  let writing = true;
  const removing = (async () => {
    while (writing) await blobs.deletePrefix('bot');
  })();

  const results = await Promise.allSettled(
    Array.from({ length: 200 }, (_, n) => blobs.write(`bot/file${n % 7}/${n}`, of('content'))),
  );
  writing = false;
  await removing;
  await blobs.write('bot/last/1', of('content'));

  const refused = results.filter(({ status }) => status === 'rejected');
  for (const result of refused) expect((result as PromiseRejectedResult).reason).toMatchObject({ code: 'ENOENT' });
  for (const file of await blobs.list('bot')) {
    for (const version of await blobs.list(`bot/${file}`)) {
      expect((await buffer(await blobs.read(`bot/${file}/${version}`))).toString()).toBe('content');
    }
  }
  expect(await blobs.list('bot/last')).toEqual(['1']);
  expect(await incoming()).toEqual([]);
});

it('places a blob while others of its folder are removed', async () => {
  const work = Array.from({ length: 100 }, async (_, n) => {
    await blobs.write(`bot/file/${n}`, of('content'));
    await blobs.delete(`bot/file/${n}`);
    await blobs.write(`bot/file/kept${n}`, of('content'));
  });

  await Promise.all(work);

  expect(await blobs.count('bot')).toBe(100);
});

it('removes what a killed writer has left, and not what is being written', async () => {
  const [old, young] = [join(folder, 'incoming', 'old'), join(folder, 'incoming', 'young')];
  await writeFile(old, 'half');
  await writeFile(young, 'half');
  const hoursAgo = new Date(Date.now() - 2 * 3_600_000);
  await utimes(old, hoursAgo, hoursAgo);

  await blobs.removeAbandoned();

  expect(await incoming()).toEqual(['young']);
});
