import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
// Relative path: the module aliases of jest do not work in its global setup.
import { startLocalPostgres, type LocalPostgres } from '../../local-postgres/src/local-postgres';

const minMemoryBytes = 2 * 1024 ** 3;

/** Postgres of this run, unless TEST_DATABASE_URL is set, and the process that cleans up, also when jest is killed. */
export let testRun: { postgres?: LocalPostgres; cleaner: ChildProcess };

/**
 * Builds outdated code, because tests start processes and threads from compiled code. Then sets the temporary folder of the
 * run, with Node's cache of compiled code, and starts one Postgres in it, unless TEST_DATABASE_URL is set. Workers inherit the
 * environment.
 */
export default async function globalSetup(): Promise<void> {
  execFileSync(process.execPath, [join(__dirname, '../../../tools/build.mjs')], { stdio: 'inherit' });
  process.env.TEST_RUN_ID = randomBytes(4).toString('hex');
  const folder = await mkdtemp(join(await temporaryRoot(), 'parley-test-'));
  // Postgres may run as another user.
  await chmod(folder, 0o755);
  process.env.TMPDIR = join(folder, 'tmp');
  await mkdir(process.env.TMPDIR);
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled');
  testRun = { cleaner: startCleaner(folder) };
  if (process.env.TEST_DATABASE_URL) return;

  const settings = {
    max_connections: 400,
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_wal_size: '256MB',
  };
  const postgres = await startLocalPostgres({ folder, settings });
  testRun.postgres = postgres;
  await makeConnectingCheap(postgres.url);
  process.env.TEST_DATABASE_URL = postgres.url;
}

/**
 * Memory if there is a tmpfs with enough room, else the temporary folder. Each suite creates and drops a database of a
 * thousand files: on ext4, the search for free inodes took a tenth of the processor time of a run.
 */
async function temporaryRoot(): Promise<string> {
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '');
  const isUsable = mounts.split('\n').some((line) => /^\S+ \/dev\/shm tmpfs (?!\S*\bnoexec\b)/.test(line));
  if (!isUsable) return tmpdir();
  const { bavail, bsize } = await statfs('/dev/shm');
  return bavail * bsize >= minMemoryBytes ? '/dev/shm' : tmpdir();
}

/**
 * Tests open thousands of connections, and each hashes the password 4096 times on both sides. The password of a test
 * needs no protection from guessing.
 */
async function makeConnectingCheap(url: string): Promise<void> {
  const { username, password } = new URL(url);
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('SET scram_iterations = 1');
  await client.query(`ALTER ROLE ${client.escapeIdentifier(username)} PASSWORD ${client.escapeLiteral(password)}`);
  await client.end();
}

/** Waits for the end of its standard input, which comes however jest ends. */
function startCleaner(folder: string): ChildProcess {
  const script = `
    cat
    pid=$(head -n 1 "$0/postgres/postmaster.pid") && kill -QUIT "$pid" && sleep 1
    rm -rf "$0"`;
  const cleaner = spawn('sh', ['-c', script, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  cleaner.unref();
  return cleaner;
}
