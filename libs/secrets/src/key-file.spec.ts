import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addKey, openKeyFile } from './key-file';

let folder: string;
const path = () => join(folder, 'secret.key');

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-keys-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

it('creates a key file once, readable by its owner only', async () => {
  const made = await openKeyFile(folder);

  expect(await openKeyFile(folder)).toEqual(made);
  expect(made).toEqual({ secretKey: expect.stringMatching(/^[\w-]{43}$/) as string, formerSecretKeys: [] });
  expect((await stat(path())).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['secret.key']);
});

it('keeps former keys after a new one, newest first', async () => {
  const first = await openKeyFile(folder);

  const second = await addKey(folder);
  const third = await addKey(folder);

  expect(third.formerSecretKeys).toEqual([second.secretKey, first.secretKey]);
  expect(await openKeyFile(folder)).toEqual(third);
});

it('reads a key file with one line from earlier versions', async () => {
  await writeFile(path(), 'the-only-key\n', { mode: 0o600 });

  expect(await openKeyFile(folder)).toEqual({ secretKey: 'the-only-key', formerSecretKeys: [] });
});

it('keeps the old keys until the new file is complete, and recovers from an interrupted write', async () => {
  const before = await openKeyFile(folder);
  const text = await readFile(path(), 'utf8');
  await writeFile(`${path()}.new`, 'half of a k', { mode: 0o644 });

  expect(await openKeyFile(folder)).toEqual(before);
  expect((await addKey(folder)).formerSecretKeys).toEqual([before.secretKey]);
  expect((await readFile(path(), 'utf8')).endsWith(text)).toBe(true);
  expect((await stat(path())).mode & 0o777).toBe(0o600);
});
