import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
// Relative path: the module aliases of jest do not work in its global setup.
import { startLocalPostgres, type LocalPostgres } from '../../local-postgres/src/local-postgres';

/** Postgres of this run, and the process that stops it and removes its folder when jest is killed. */
export let testServer: { postgres: LocalPostgres; cleaner: ChildProcess } | undefined;

/**
 * Builds outdated code, because tests start processes and threads from compiled code. Then starts one Postgres for the
 * run, unless TEST_DATABASE_URL is set. Workers inherit the environment.
 */
export default async function globalSetup(): Promise<void> {
  execFileSync(process.execPath, [join(__dirname, '../../../tools/build.mjs')], { stdio: 'inherit' });
  process.env.TEST_RUN_ID = randomBytes(4).toString('hex');
  if (process.env.TEST_DATABASE_URL) return;

  const folder = await mkdtemp(join(tmpdir(), 'parley-test-postgres-'));
  await chmod(folder, 0o711);
  const cleaner = startCleaner(folder);
  const settings = { max_connections: 400, fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
  const postgres = await startLocalPostgres({ folder, settings });
  testServer = { postgres, cleaner };
  await makeConnectingCheap(postgres.url);
  process.env.TEST_DATABASE_URL = postgres.url;
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
