import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { S3Blobs } from './s3-blobs';
import { describeBlobStore, of } from './test/blob-store.behaviour';

const address = process.env.S3_TEST_URL;
if (!address) {
  process.stderr.write(
    'SKIPPED: the behaviour of the S3 adapter. Set S3_TEST_URL to run it, as in http://key:secret@host:9000/bucket.\n',
  );
}

(address ? describe : describe.skip)('against the S3 at S3_TEST_URL', () => {
  const open = (options: { maxCopyBytes?: number; copyPartBytes?: number; prefix?: string } = {}) => {
    const { origin, pathname, username, password } = new URL(address!);
    return new S3Blobs({
      endpoint: origin,
      region: 'us-east-1',
      bucket: pathname.slice(1),
      pathStyle: true,
      credentials: { accessKeyId: decodeURIComponent(username), secretAccessKey: decodeURIComponent(password) },
      ...options,
    });
  };
  const prefix = `test/${randomUUID()}`;
  let blobs: S3Blobs;
  beforeAll(async () => {
    blobs = open({ prefix });
    await blobs.ready();
  });
  afterAll(async () => {
    const whole = open();
    await whole.deletePrefix(prefix);
    whole.close();
    blobs.close();
  });

  describeBlobStore(() => blobs);

  it('copies blobs in parts above the limit of one copy request', async () => {
    const part = 5 * 1024 * 1024;
    const inParts = open({ prefix, maxCopyBytes: part, copyPartBytes: part });
    const content = Buffer.alloc(2 * part + 3, 'content');
    await inParts.write('bot/large/1', of(content));

    await inParts.copy('bot/large/1', 'bot/large/2');

    expect((await buffer(await inParts.read('bot/large/2'))).equals(content)).toBe(true);
    inParts.close();
  });

  it('lists, counts and removes more than one page of blobs', async () => {
    const names = Array.from({ length: 1_100 }, (_, n) => `n${n}`);
    for (let start = 0; start < names.length; start += 50) {
      await Promise.all(names.slice(start, start + 50).map((name) => blobs.write(`bot/many/${name}`, of(name))));
    }

    expect((await blobs.list('bot/many')).sort()).toEqual(names.sort());
    expect(await blobs.count('bot')).toBeGreaterThanOrEqual(1_100);
    await blobs.deletePrefix('bot/many');

    expect(await blobs.count('bot/many')).toBe(0);
  });

  it('reports a missing bucket', async () => {
    const { origin, username, password } = new URL(address!);
    const none = new S3Blobs({
      endpoint: origin,
      region: 'us-east-1',
      bucket: `none-${randomUUID()}`,
      pathStyle: true,
      credentials: { accessKeyId: username, secretAccessKey: decodeURIComponent(password) },
    });

    await expect(none.ready()).rejects.toThrow('the bucket does not exist');
    none.close();
  });
});
