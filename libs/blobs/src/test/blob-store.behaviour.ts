import { randomBytes, randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { BlobMissing, type BlobStore } from '../blob-store';

/** Source of these chunks; an Error among them makes it fail. */
export async function* of(...chunks: (string | Uint8Array | Error)[]): AsyncIterable<Uint8Array> {
  for (const chunk of chunks) {
    if (chunk instanceof Error) throw chunk;
    yield await Promise.resolve(Buffer.from(chunk as Uint8Array));
  }
}

/** More than two parts of an S3 upload, in chunks that align neither with parts nor with each other. */
export function largeContent(): { content: Buffer; chunks: Buffer[] } {
  const content = randomBytes(20_000_000);
  const chunks: Buffer[] = [];
  for (let start = 0, size = 1; start < content.length; start += size, size = 70_001 + start / 10) {
    size = Math.floor(size);
    chunks.push(content.subarray(start, start + size));
  }
  return { content, chunks };
}

/** Contract tests for every adapter of BlobStore. `open` returns a ready store; each test uses a bot of its own. */
export function describeBlobStore(open: () => BlobStore): void {
  let blobs: BlobStore;
  let bot: string;
  beforeEach(() => {
    blobs = open();
    bot = randomUUID();
  });

  const textOf = async (key: string) => (await buffer(await blobs.read(key))).toString();

  it('returns a written blob, completely and in ranges', async () => {
    const content = randomBytes(200_000);

    await blobs.write(`${bot}/file/1`, of(content.subarray(0, 70_000), content.subarray(70_000)));

    expect((await buffer(await blobs.read(`${bot}/file/1`))).equals(content)).toBe(true);
    const part = await buffer(await blobs.read(`${bot}/file/1`, { start: 69_999, end: 70_001 }));
    expect(part.equals(content.subarray(69_999, 70_002))).toBe(true);
  });

  it('returns a blob of several parts, completely and across part boundaries', async () => {
    const { content, chunks } = largeContent();
    const seam = 5 * 1024 * 1024;

    await blobs.write(`${bot}/file/1`, of(...chunks));

    expect((await buffer(await blobs.read(`${bot}/file/1`))).equals(content)).toBe(true);
    const part = await buffer(await blobs.read(`${bot}/file/1`, { start: seam - 2, end: seam + 1 }));
    expect(part.equals(content.subarray(seam - 2, seam + 2))).toBe(true);
  });

  it.each([5 * 1024 * 1024 - 1, 5 * 1024 * 1024, 5 * 1024 * 1024 + 1])('stores a blob of %i bytes', async (size) => {
    const content = randomBytes(size);

    await blobs.write(`${bot}/file/1`, of(content));

    expect((await buffer(await blobs.read(`${bot}/file/1`))).equals(content)).toBe(true);
  });

  it.each<[string, Uint8Array[]]>([
    ['no chunks', []],
    ['empty chunks', [Buffer.alloc(0), Buffer.alloc(0)]],
  ])('stores an empty blob of %s', async (_, chunks) => {
    await blobs.write(`${bot}/file/1`, of(...chunks));

    expect(await textOf(`${bot}/file/1`)).toBe('');
    expect(await blobs.list(`${bot}/file`)).toEqual(['1']);
  });

  it.each([
    ['that ends beyond it', { start: 2, end: 100 }, 'cd'],
    ['that begins beyond it', { start: 4, end: 100 }, ''],
  ])('returns the existing bytes of the range %s of a blob', async (_, range, expected) => {
    await blobs.write(`${bot}/file/1`, of('abcd'));

    expect((await buffer(await blobs.read(`${bot}/file/1`, range))).toString()).toBe(expected);
  });

  it('releases a blob whose reader stops', async () => {
    const { chunks } = largeContent();
    await blobs.write(`${bot}/file/1`, of(...chunks));

    const streams: Readable[] = [];
    for (let n = 0; n < 20; n += 1) {
      const stream = await blobs.read(`${bot}/file/1`);
      stream.destroy();
      streams.push(stream);
    }

    expect(streams.every(({ destroyed }) => destroyed)).toBe(true);
    await expect(blobs.delete(`${bot}/file/1`)).resolves.toBeUndefined();
  });

  it('leaves nothing of a blob when a source fails', async () => {
    const written = blobs.write(`${bot}/file/1`, of('half of it', new Error('cut')));

    await expect(written).rejects.toThrow('cut');
    expect(await blobs.list(`${bot}/file`)).toEqual([]);
  });

  it('leaves nothing of a blob when a source fails after some parts', async () => {
    const { chunks } = largeContent();

    const written = blobs.write(`${bot}/file/1`, of(...chunks, new Error('cut')));

    await expect(written).rejects.toThrow('cut');
    expect(await blobs.list(`${bot}/file`)).toEqual([]);
    await expect(blobs.read(`${bot}/file/1`)).rejects.toBeInstanceOf(BlobMissing);
  });

  it('shows nothing of a blob before it is complete', async () => {
    const { chunks } = largeContent();
    let seen: string[] | undefined;
    async function* source() {
      yield* chunks;
      seen = await blobs.list(`${bot}/file`);
      yield Buffer.from('the end');
    }

    await blobs.write(`${bot}/file/1`, source());

    expect(seen).toEqual([]);
    expect(await blobs.list(`${bot}/file`)).toEqual(['1']);
  });

  it('replaces a blob', async () => {
    await blobs.write(`${bot}/file/1`, of('a long one'));

    await blobs.write(`${bot}/file/1`, of('new'));

    expect(await textOf(`${bot}/file/1`)).toBe('new');
    expect(await blobs.count(bot)).toBe(1);
  });

  it('keeps the old blob when its replacement fails', async () => {
    await blobs.write(`${bot}/file/1`, of('old'));

    await expect(blobs.write(`${bot}/file/1`, of('new', new Error('cut')))).rejects.toThrow('cut');

    expect(await textOf(`${bot}/file/1`)).toBe('old');
  });

  it('keeps one of two concurrent writes to the same key, completely', async () => {
    await Promise.all(['aa', 'bb'].map((half) => blobs.write(`${bot}/file/1`, of(half, half))));

    expect(['aaaa', 'bbbb']).toContain(await textOf(`${bot}/file/1`));
    expect(await blobs.count(bot)).toBe(1);
  });

  it('writes many blobs at once', async () => {
    const keys = Array.from({ length: 30 }, (_, n) => `${bot}/file/${n}`);

    await Promise.all(keys.map((key) => blobs.write(key, of(key))));

    expect(await Promise.all(keys.map(textOf))).toEqual(keys);
  });

  it('reports a missing blob', async () => {
    await expect(blobs.read(`${bot}/file/1`)).rejects.toBeInstanceOf(BlobMissing);
    await expect(blobs.read(`${bot}/file/1`, { start: 0, end: 1 })).rejects.toBeInstanceOf(BlobMissing);
  });

  it('copies a blob, which outlives its source', async () => {
    const { content, chunks } = largeContent();
    await blobs.write(`${bot}/file/1`, of(...chunks));

    await blobs.copy(`${bot}/file/1`, `${bot}2/other/2`);
    await blobs.delete(`${bot}/file/1`);

    expect((await buffer(await blobs.read(`${bot}2/other/2`))).equals(content)).toBe(true);
    expect(await blobs.count(bot)).toBe(0);
    await blobs.deletePrefix(`${bot}2`);
  });

  it('copies an empty blob, and replaces the blob at the destination', async () => {
    await blobs.write(`${bot}/empty/1`, of());
    await blobs.write(`${bot}/file/1`, of('old'));

    await blobs.copy(`${bot}/empty/1`, `${bot}/file/1`);

    expect(await textOf(`${bot}/file/1`)).toBe('');
  });

  it('reports a missing source of a copy, and keeps the blob at the destination', async () => {
    await blobs.write(`${bot}/file/1`, of('old'));

    await expect(blobs.copy(`${bot}/none/1`, `${bot}/file/1`)).rejects.toBeInstanceOf(BlobMissing);
    await expect(blobs.copy(`${bot}/none/1`, `${bot}/file/2`)).rejects.toBeInstanceOf(BlobMissing);

    expect(await textOf(`${bot}/file/1`)).toBe('old');
    expect(await blobs.list(`${bot}/file`)).toEqual(['1']);
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
    'bot/x?versionId=1',
  ])('rejects the key %j in every method', async (key) => {
    const message = 'Invalid blob key';

    await expect(blobs.write(key, of('x'))).rejects.toThrow(message);
    await expect(blobs.read(key)).rejects.toThrow(message);
    await expect(blobs.copy(key, `${bot}/file/1`)).rejects.toThrow(message);
    await expect(blobs.copy(`${bot}/file/1`, key)).rejects.toThrow(message);
    await expect(blobs.delete(key)).rejects.toThrow(message);
    await expect(blobs.list(key)).rejects.toThrow(message);
    await expect(blobs.count(key)).rejects.toThrow(message);
    await expect(blobs.deletePrefix(key)).rejects.toThrow(message);
  });

  it('lists the names directly below a prefix, and no names that only start with it', async () => {
    await blobs.write(`${bot}/one/1`, of('1'));
    await blobs.write(`${bot}/one/2`, of('2'));
    await blobs.write(`${bot}/two/1`, of('1'));
    await blobs.write(`${bot}/one2/1`, of('1'));

    expect((await blobs.list(bot)).sort()).toEqual(['one', 'one2', 'two']);
    expect((await blobs.list(`${bot}/one`)).sort()).toEqual(['1', '2']);
    expect(await blobs.list(`${bot}/none`)).toEqual([]);
  });

  it('removes a blob, also a missing one, and nothing else', async () => {
    await blobs.write(`${bot}/one/1`, of('1'));
    await blobs.write(`${bot}/two/1`, of('1'));
    await blobs.write(`${bot}/two/2`, of('2'));

    await blobs.delete(`${bot}/one/1`);
    await blobs.delete(`${bot}/two/1`);
    await blobs.delete(`${bot}/two/none`);

    expect(await blobs.list(bot)).toEqual(['two']);
    expect(await blobs.list(`${bot}/two`)).toEqual(['2']);
  });

  it('counts and removes blobs below a prefix, and no names that only start with it', async () => {
    await blobs.write(`${bot}/one/1`, of('1'));
    await blobs.write(`${bot}/two/1`, of('1'));
    await blobs.write(`${bot}2/one/1`, of('1'));

    expect(await blobs.count(bot)).toBe(2);
    await blobs.deletePrefix(bot);
    await blobs.deletePrefix(bot);

    expect(await blobs.count(bot)).toBe(0);
    expect(await blobs.count(`${bot}2`)).toBe(1);
    await blobs.deletePrefix(`${bot}2`);
  });

  it('keeps recent blobs when the store is made ready twice', async () => {
    await blobs.write(`${bot}/file/1`, of('content'));

    await blobs.ready();
    await blobs.removeAbandoned();

    expect(await textOf(`${bot}/file/1`)).toBe('content');
  });
}
