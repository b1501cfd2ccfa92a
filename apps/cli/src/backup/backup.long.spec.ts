import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createWriteStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Client } from '@botpress/client';
import { pack } from 'tar-stream';
import { Database } from '@parley/persistence/database';
import { findServerUrl } from '@parley/local-postgres/cluster-backup';
import { clientOf } from '@parley/testing/api';
import { run, startEmbedded } from '@parley/testing/running-platform';
import { waitFor } from '@parley/testing/wait-for';
import { runCommand } from '../program';

jest.setTimeout(180_000);

let folder: string;
const environment = { ...process.env };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-backup-'));
  // Postgres may run as another user.
  await chmod(folder, 0o755);
});
afterEach(async () => {
  process.env = { ...environment };
  await rm(folder, { recursive: true, force: true });
});

async function command(...line: string[]) {
  let output = '';
  const status = await runCommand(line, (text) => (output += text));
  return { status, output };
}

/** Process that holds the lock of a data folder. */
async function ownerOf(dataDir: string): Promise<number | undefined> {
  const lock = join(dataDir, 'parley.lock');
  const [name = ''] = await readdir(lock).catch(() => []);
  // The lock may be released between the two reads.
  const owner = await readFile(join(lock, name), 'utf8').catch(() => '{}');
  return (JSON.parse(owner) as { pid?: number }).pid;
}

const digestOf = (content: Uint8Array) => createHash('sha256').update(content).digest('hex');

/** Uploads, replaces and deletes files until stopped, and records every acknowledgement. */
function load(client: Client) {
  const acknowledged = new Map<string, string>();
  let isStopped = false;
  const writing = (async () => {
    for (let n = 0; !isStopped; n += 1) {
      const content = randomBytes(40_000);
      const { file } = await client.uploadFile({ key: `kept-${n}.bin`, content });
      acknowledged.set(file.id, digestOf(content));
      await client.uploadFile({ key: 'replaced.bin', content: randomBytes(1_000 + n) });
      const { file: passing } = await client.uploadFile({ key: `deleted-${n}.bin`, content: 'x' });
      await client.deleteFile({ id: passing.id });
    }
  })();
  const stop = async () => {
    isStopped = true;
    await writing;
  };
  return { acknowledged, stop };
}

it('restores everything acknowledged before the backup began, under load and after a killed backup', async () => {
  const dataDir = join(folder, 'data');
  const platform = await startEmbedded({ dataDir, ownPostgres: true, env: { SWEEP_INTERVAL_MS: '100' } });
  const { bot } = await clientOf(platform).createBot({});
  const client = clientOf(platform, bot.id);
  const { file } = await client.uploadFile({ key: 'sea.txt', content: 'The lighthouse is of Marlow.', index: true });
  await waitFor(
    () => client.getFile({ id: file.id }),
    (found) => found.file.status === 'indexing_completed',
    60_000,
  );
  const { acknowledged, stop } = load(client);
  await waitFor(
    () => acknowledged.size,
    (count) => count >= 10,
    60_000,
  );

  const url = (await findServerUrl(dataDir))!;
  const session = await Database.open({ url, schema: 'public', migrations: [], poolSize: 1 });
  const slots = () => session.query('SELECT slot_name FROM pg_replication_slots');
  const killed = run('dist/apps/cli/src/main.js', { PARLEY_DATA_DIR: dataDir }, [
    'backup',
    join(folder, 'killed.tar.gz'),
  ]);
  await waitFor(slots, (found) => found.length === 1, 60_000);
  process.kill(killed.pid, 'SIGKILL');
  await killed.ended;
  await waitFor(slots, (found) => found.length === 0, 60_000);
  await session.close();

  const before = new Map(acknowledged);
  // An empty variable counts as absent.
  Object.assign(process.env, { PARLEY_DATA_DIR: dataDir, BLOBS_DIR: '' });
  const archive = join(folder, 'backup.tar.gz');
  expect(await command('backup', archive)).toMatchObject({ status: 0 });
  await stop();
  expect((await stat(archive)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['backup.tar.gz', 'data', 'killed.tar.gz.part']);
  await platform.stop();

  const copy = join(folder, 'copy');
  expect(await command('restore', archive, '--to', copy)).toMatchObject({ status: 0 });
  const restored = await startEmbedded({ dataDir: copy, ownPostgres: true });
  const again = clientOf(restored, bot.id);
  expect(restored.token).toBe(platform.token);
  const files = await again.list.files({}).collect();
  for (const { id, key, status } of files) {
    if (status === 'upload_pending') continue;
    const response = await fetch((await again.getFile({ id })).file.url);
    const content = new Uint8Array(await response.arrayBuffer());
    expect({ key, status: response.status }).toEqual({ key, status: 200 });
    if (before.has(id)) expect(digestOf(content)).toBe(before.get(id));
  }
  expect(files.map(({ id }) => id)).toEqual(expect.arrayContaining([...before.keys()]));
  expect((await again.searchFiles({ query: 'lighthouse' })).passages).toHaveLength(1);
  await restored.stop();
});

it('backs up the folder of a killed platform and locks it meanwhile', async () => {
  const dataDir = join(folder, 'data');
  const platform = await startEmbedded({ dataDir, ownPostgres: true });
  const { bot } = await clientOf(platform).createBot({ name: 'kept' });
  process.kill(platform.pids['standalone']!, 'SIGKILL');
  await platform.stop();

  const backup = run('dist/apps/cli/src/main.js', { PARLEY_DATA_DIR: dataDir }, [
    'backup',
    join(folder, 'backup.tar.gz'),
  ]);
  await waitFor(
    () => ownerOf(dataDir),
    (pid) => pid === backup.pid,
  );
  // It cannot finish before the platform has noticed its lock.
  process.kill(backup.pid, 'SIGSTOP');
  const refused = run('dist/apps/standalone/src/main.js', { PORT: '0', PARLEY_DATA_DIR: dataDir });
  await refused.ended;
  process.kill(backup.pid, 'SIGCONT');

  await backup.ended;
  expect(backup.output()).toContain('It contains the secret key');
  expect(refused.output()).toContain('is in use by process');
  expect(await command('restore', join(folder, 'backup.tar.gz'), '--to', join(folder, 'copy'))).toMatchObject({
    status: 0,
  });
  const restored = await startEmbedded({ dataDir: join(folder, 'copy'), ownPostgres: true });
  expect((await clientOf(restored).getBot({ id: bot.id })).bot.name).toBe('kept');
  await restored.stop();
});

describe('a backup or restore is refused', () => {
  type Entry = Parameters<ReturnType<typeof pack>['entry']>[0] & { content?: string };
  const head = (postgres = 18) => ({
    name: 'parley-backup.json',
    content: JSON.stringify({ format: 1, postgres, createdAt: '' }),
  });

  /** Archive of these entries without a last entry. */
  async function archiveOf(...entries: Entry[]): Promise<string> {
    const path = join(folder, `${randomUUID()}.tar.gz`);
    const tar = pack();
    const written = pipeline(tar, createGzip(), createWriteStream(path));
    for (const { content = '', ...header } of entries) tar.entry(header, content);
    tar.finalize();
    await written;
    return path;
  }

  async function nothingIsLeft(): Promise<void> {
    expect((await readdir(folder)).filter((name) => !name.endsWith('.tar.gz'))).toEqual([]);
  }

  it.each([
    ['an absolute path', [head(), { name: '/etc/parley', content: 'x' }], 'unexpected entry "/etc/parley"'],
    ['a path that leads out', [head(), { name: 'blobs/../../x', content: 'x' }], 'unexpected entry "blobs/../../x"'],
    ['a lock', [head(), { name: 'parley.lock', content: 'x' }], 'unexpected entry "parley.lock"'],
    [
      'a link',
      [head(), { name: 'blobs/x', type: 'symlink', linkname: '/etc' }],
      'unexpected entry "blobs/x" (symlink)',
    ],
    ['a hard link', [head(), { name: 'blobs/x', type: 'link', linkname: '/etc/passwd' }], '(link)'],
    ['another Postgres', [head(15)], 'has data of Postgres 15, but this is Postgres 18'],
    ['a layout of later', [{ ...head(), content: '{"format":2}' }], 'has format 2'],
    ['another beginning', [{ name: 'x', content: 'x' }], 'its first entry is missing'],
    ['no end', [head(), { name: 'secret.key', content: 'x' }], 'it is truncated'],
    [
      'a wrong checksum',
      [head(), { name: 'parley-backup.end.json', content: '{"entries":1,"sha256":"0"}' }],
      'its checksum is wrong',
    ],
  ] satisfies [string, Entry[], string][])('refuses to restore an archive with %s', async (_what, entries, message) => {
    const path = await archiveOf(...(entries as Entry[]));

    const { status, output } = await command('restore', path, '--to', join(folder, 'to'));

    expect({ status, output }).toEqual({ status: 1, output: expect.stringContaining(message) });
    await nothingIsLeft();
  });

  it.each([
    ['cut off', (bytes: Buffer) => bytes.subarray(0, bytes.length - 20)],
    [
      'changed',
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -9), Buffer.from([bytes.at(-9)! ^ 1]), bytes.subarray(-8)]),
    ],
    ['no archive', () => Buffer.from('hello')],
  ])('refuses to restore a file that is %s', async (_what, spoil) => {
    const path = await archiveOf(head(), { name: 'blobs/x', content: randomBytes(500).toString('hex') });
    await writeFile(path, spoil(await readFile(path)));

    const { status, output } = await command('restore', path, '--to', join(folder, 'to'));

    expect({ status, output }).toEqual({
      status: 1,
      output: expect.stringContaining('is not a complete backup of Parley'),
    });
    await nothingIsLeft();
  });

  it('refuses to restore to a folder that is not empty', async () => {
    await mkdir(join(folder, 'to'));
    await writeFile(join(folder, 'to', 'mine'), 'x');

    const { status, output } = await command('restore', await archiveOf(head()), '--to', join(folder, 'to'));

    expect({ status, output }).toEqual({ status: 1, output: expect.stringContaining('is not empty') });
    expect(await readdir(join(folder, 'to'))).toEqual(['mine']);
  });

  it.each([
    ['for a folder without a database', {}, 'out.tar.gz', 'No database in'],
    ['for a database elsewhere', { DATABASE_URL: 'postgres://elsewhere' }, 'out.tar.gz', 'DATABASE_URL is set'],
    ['to a file in the folder itself', {}, 'data/out.tar.gz', 'which is backed up: choose a place outside of it'],
  ])('refuses a backup %s', async (what, env, file, message) => {
    const dataDir = join(folder, 'data');
    await mkdir(join(dataDir, 'postgres'), { recursive: true });
    if (!what.includes('without')) await writeFile(join(dataDir, 'postgres', 'PG_VERSION'), '18\n');
    Object.assign(process.env, { PARLEY_DATA_DIR: dataDir, ...env });

    expect(await command('backup', join(folder, file))).toEqual({
      status: 1,
      output: expect.stringContaining(message),
    });
  });
});
