import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { CannotOpenData, explainDataError } from './cannot-open-data';

const { username, uid } = userInfo();
let parent: string;
let folder: string;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'parley-cannot-open-data-'));
  folder = join(parent, 'data');
});

afterEach(() => rm(parent, { recursive: true }));

function refusal(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: refused, open '${path}'`), { code, path, syscall: 'open' });
}

async function explained(error: Error): Promise<string> {
  const found = await explainDataError(folder, error);
  expect(found).toBeInstanceOf(CannotOpenData);
  return (found as Error).message;
}

it('names the file that is in the place of the folder', async () => {
  await writeFile(folder, '');

  expect(await explained(refusal('EEXIST', folder))).toBe(
    `Cannot use the data folder ${folder} as user ${username} (${uid}): ${folder} is a file. Remove it, or set PARLEY_DATA_DIR to another folder.`,
  );
});

it('names the file that is in the place of a folder above', async () => {
  const file = join(parent, 'file');
  await writeFile(file, '');
  folder = join(file, 'sub', 'data');

  expect(await explained(refusal('ENOTDIR', folder))).toContain(`: ${file} is a file. Remove it,`);
});

it('names mode and remedy of a folder of this user that is not writable', async () => {
  await mkdir(folder);
  await chmod(folder, 0o500);

  expect(await explained(refusal('EACCES', join(folder, 'parley.lock')))).toBe(
    `Cannot use the data folder ${folder} as user ${username} (${uid}): ${folder} belongs to user ${uid} and has the mode 500. Run chmod u+rwX ${folder}, or set PARLEY_DATA_DIR to another folder.`,
  );
});

it('names the owner of the folder in which it may not create one', async () => {
  folder = '/parley-data';

  expect(await explained(refusal('EACCES', folder))).toMatch(/: \/ belongs to user \d+ and has the mode \d+\. Run /);
});

it.each([
  ['ENOSPC', 'no space is left on its disk. Free at least 200 MB'],
  ['EDQUOT', 'the disk quota of this user is used up. Free at least 200 MB'],
  ['EROFS', 'its file system is read-only. Mount it for writing'],
])('says in one line how to go on after %s', async (code, sentence) => {
  expect(await explained(refusal(code, join(folder, 'secret.key')))).toBe(
    `Cannot use the data folder ${folder} as user ${username} (${uid}): ${sentence}, or set PARLEY_DATA_DIR to another folder.`,
  );
});

it('quotes other errors of the file system', async () => {
  expect(await explained(refusal('EISDIR', join(folder, 'secret.key')))).toContain(
    `: EISDIR: refused, open '${folder}/secret.key'. Repair it, or set PARLEY_DATA_DIR`,
  );
});

it.each([
  ['could not write to file "pg_wal/xlogtemp.7": No space left on device', 'no space is left on its disk'],
  ['could not create directory "pg_wal": Read-only file system', 'its file system is read-only'],
  ['could not extend file "base/5/1": Disk quota exceeded', 'the disk quota of this user is used up'],
])('recognises the refusal in an error of Postgres: %s', async (log, reason) => {
  const error = new Error('The database does not accept writes.', { cause: new Error(log) });

  expect(await explained(error)).toContain(`: ${reason}. `);
});

it.each([
  ['ENOSPC', 'ENOSPC: no space left on device, write'],
  ['53100', 'could not extend file "base/5/1": wrote only 4096 of 8192 bytes at block 0'],
])('recognises a full disk by the code %s of an error without a path', async (code, message) => {
  const error = new Error('The start failed.', { cause: Object.assign(new Error(message), { code }) });

  expect(await explained(error)).toContain(': no space is left on its disk. ');
});

it.each([
  ['another program', () => new TypeError('x is not a function')],
  ['a port', () => Object.assign(new Error('listen EACCES: permission denied 0.0.0.0:80'), { code: 'EACCES' })],
  ['a file elsewhere', () => refusal('EACCES', join(parent, 'elsewhere'))],
])('returns an error of %s unchanged', async (_name, make) => {
  const error = make();

  expect(await explainDataError(folder, error)).toBe(error);
});
