import fs from 'node:fs/promises';
import { type FileHandle, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { BlobMissing } from './blob-store';
import { FolderBlobs } from './folder-blobs';
import { describeBlobStore, of } from './test/blob-store.behaviour';

const actualOpen = fs.open;

let folder: string;
let blobs: FolderBlobs;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-blobs-'));
  blobs = new FolderBlobs(folder);
  await blobs.readyToWrite();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const incoming = () => readdir(join(folder, 'incoming'));

describeBlobStore(() => blobs);

it('leaves nothing in the incoming folder when a source fails', async () => {
  const written = blobs.write('bot/file/1', of('half of it', new Error('cut')));

  await expect(written).rejects.toThrow('cut');
  expect(await incoming()).toEqual([]);
});

it('leaves nothing in the incoming folder when a copy fails', async () => {
  await blobs.write('bot/file/1', of('content'));

  await expect(blobs.copy('bot/none/1', 'bot/file/2')).rejects.toThrow('Blob "bot/none/1" not found.');
  await expect(blobs.copy('bot/file/1', 'bot/file/1/below')).rejects.toThrow('EEXIST');

  expect(await incoming()).toEqual([]);
});

describe('a full or read-only file system', () => {
  const full = { name: 'ApiError', type: 'Internal', code: 503, retryAfterSeconds: 30 };
  let refused: number;

  beforeEach(() => {
    refused = 0;
    blobs = new FolderBlobs(folder, () => (refused += 1));
  });
  afterEach(() => jest.restoreAllMocks());

  it('returns 503 for a full or read-only file system, reports it, and leaves nothing behind', async () => {
    await blobs.write('bot/file/1', of('content'));
    openInstead(() => actualOpen('/dev/full', 'w'));

    await expect(blobs.write('bot/file/2', of('content'))).rejects.toMatchObject(full);

    expect(refused).toBe(1);
    expect(await incoming()).toEqual([]);
    expect(await blobs.list('bot/file')).toEqual(['1']);
    expect((await buffer(await blobs.read('bot/file/1'))).toString()).toBe('content');
  });

  it.each(['ENOSPC', 'EDQUOT', 'EROFS'])(
    'returns 503 for a copy to a full or read-only file system too (%s)',
    async (code) => {
      await blobs.write('bot/file/1', of('content'));
      openInstead(() => Promise.reject(Object.assign(new Error(`${code}: no room`), { code })));

      await expect(blobs.copy('bot/file/1', 'bot/file/2')).rejects.toMatchObject(full);

      expect(refused).toBe(1);
      expect(await blobs.list('bot/file')).toEqual(['1']);
    },
  );

  it('does not report other failures as a full or read-only file system', async () => {
    await expect(blobs.copy('bot/none/1', 'bot/file/1')).rejects.toBeInstanceOf(BlobMissing);
    await expect(blobs.write('bot/file/1', of('half', new Error('cut')))).rejects.toThrow('cut');

    expect(refused).toBe(0);
  });

  function openInstead(opened: () => Promise<FileHandle>): void {
    jest
      .spyOn(fs, 'open')
      .mockImplementation((path, ...rest) =>
        String(path).includes('/incoming/') ? opened() : actualOpen(path, ...rest),
      );
  }
});

it('keeps a copy independent of its source', async () => {
  await blobs.write('bot/file/1', of('content'));

  await blobs.copy('bot/file/1', 'bot/file/2');
  await writeFile(join(folder, 'bot/file/1'), 'changed');

  expect((await buffer(await blobs.read('bot/file/2'))).toString()).toBe('content');
});

it('copies while the destination folders are removed over and over', async () => {
  await blobs.write('kept/file/1', of('content'));
  let copying = true;
  const removing = (async () => {
    while (copying) await blobs.deletePrefix('bot');
  })();

  const results = await Promise.allSettled(
    Array.from({ length: 100 }, (_, n) => blobs.copy('kept/file/1', `bot/file${n % 7}/${n}`)),
  );
  copying = false;
  await removing;

  const refused = results.filter(({ status }) => status === 'rejected');
  for (const result of refused) expect((result as PromiseRejectedResult).reason).toMatchObject({ code: 'ENOENT' });
  expect(await incoming()).toEqual([]);
});

it('removes a blob and its folder if that is empty then, and nothing else', async () => {
  await blobs.write('bot/one/1', of('1'));
  await blobs.write('bot/two/1', of('1'));
  await blobs.write('bot/two/2', of('2'));

  await blobs.delete('bot/one/1');
  await blobs.delete('bot/two/1');
  await blobs.delete('bot/two/none');

  expect(await readdir(join(folder, 'bot'))).toEqual(['two']);
  expect(await blobs.list('bot/two')).toEqual(['2']);
});

it('keeps each write either completely or not at all while its prefix is removed over and over', async () => {
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

it('removes leftovers of a killed writer, and not a write under way', async () => {
  const [old, young] = [join(folder, 'incoming', 'old'), join(folder, 'incoming', 'young')];
  await writeFile(old, 'half');
  await writeFile(young, 'half');
  const hoursAgo = new Date(Date.now() - 2 * 3_600_000);
  await utimes(old, hoursAgo, hoursAgo);

  await blobs.removeAbandoned();

  expect(await incoming()).toEqual(['young']);
});
