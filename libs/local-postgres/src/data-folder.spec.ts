import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataFolder, DataFolderInUse } from './data-folder';
import { findProcess } from './processes';

let parent: string;
let folder: string;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'parley-data-folder-'));
  folder = join(parent, 'data');
});

afterEach(() => rm(parent, { recursive: true }));

it('creates a folder that others cannot list', async () => {
  await DataFolder.claim(folder);

  expect((await stat(folder)).mode & 0o066).toBe(0);
});

it('reports nothing about a folder that it has created', async () => {
  const claimed = await DataFolder.claim(folder);

  expect(await claimed.findOpenness()).toBeUndefined();
});

it.each(['755', '770', '733'])('names the remedy for a folder with the mode %s, and leaves its mode', async (mode) => {
  await mkdir(folder);
  await chmod(folder, parseInt(mode, 8));

  const claimed = await DataFolder.claim(folder);

  const closed = process.getuid?.() === 0 ? '711' : '700';
  expect(await claimed.findOpenness()).toBe(
    `Other users may read or change the data folder ${folder}, which has the mode ${mode}: run chmod ${closed} ${folder}`,
  );
  expect((await stat(folder)).mode & 0o777).toBe(parseInt(mode, 8));
});

it('names a file in place of the data folder', async () => {
  await writeFile(folder, '');

  await expect(DataFolder.claim(folder)).rejects.toThrow(`${folder} is a file. Remove it`);
});

it('refuses a second owner of a data folder and names the URL of the first', async () => {
  const first = await DataFolder.claim(folder);
  await first.announce('http://127.0.0.1:3000');

  const second = DataFolder.claim(folder);

  await expect(second).rejects.toBeInstanceOf(DataFolderInUse);
  await expect(second).rejects.toThrow(`process ${process.pid}, which serves http://127.0.0.1:3000`);
});

it('lets the next owner of a data folder in after a release', async () => {
  const first = await DataFolder.claim(folder);
  await first.announce('http://127.0.0.1:3000');

  await first.release();

  await DataFolder.claim(folder);
});

it('does not release the lock of another owner', async () => {
  const first = await DataFolder.claim(folder);
  await rm(join(folder, 'parley.lock'), { recursive: true });
  await DataFolder.claim(folder);

  await first.release();

  await expect(DataFolder.claim(folder)).rejects.toBeInstanceOf(DataFolderInUse);
});

it('takes over a data folder from an owner that died, not before', async () => {
  const owner = await startSleep();
  await writeLock(JSON.stringify(await findProcess(owner.pid!)));
  await expect(DataFolder.claim(folder)).rejects.toThrow(`kill ${owner.pid}`);

  await kill(owner);

  await DataFolder.claim(folder);
});

it('takes over a data folder from an owner whose process id was reused', async () => {
  await writeLock(JSON.stringify({ pid: process.pid, startedAt: 'long ago' }));

  await DataFolder.claim(folder);
});

it.each(['', '{"pid":', 'null', '{"pid":-1}'])('takes over a lock file truncated by a crash: %j', async (text) => {
  await writeLock(text);

  await DataFolder.claim(folder);
});

it('lets exactly one of many claims win, even over a stale lock', async () => {
  for (let round = 0; round < 20; round += 1) {
    await rm(folder, { recursive: true, force: true });
    await writeLock('');

    const claims = await Promise.allSettled(Array.from({ length: 8 }, () => DataFolder.claim(folder)));

    expect(claims.filter((claim) => claim.status === 'fulfilled')).toHaveLength(1);
    expect(await readdir(folder)).toEqual(['parley.lock']);
  }
});

async function writeLock(text: string): Promise<void> {
  await mkdir(join(folder, 'parley.lock'), { recursive: true });
  await writeFile(join(folder, 'parley.lock', 'theirs.json'), text);
}

async function startSleep(): Promise<ChildProcess> {
  const child = spawn('sleep', ['60']);
  await once(child, 'spawn');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
