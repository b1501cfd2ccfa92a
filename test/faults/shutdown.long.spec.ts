import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { indexFile } from '@parley/contracts/files';
import { clientOf } from '@parley/testing/api';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { createPlatformDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import { waitFor } from '@parley/testing/wait-for';
import { Client } from 'pg';
import { Checker } from './checker/checker';
import { Ledger } from './checker/ledger';
import { HalfSent } from './half-sent';
import { keepConnections } from './keep-connections';
import { Load } from './load';
import { describeFailures, isLoss } from './losses';
import { Replica } from './replica';
import { RowLock } from './row-lock';

jest.setTimeout(180_000);
/** Enough for short requests on a busy machine, and less than the lock timeout of 5 s. */
const shutdownTimeoutMs = 3_000;

let dataDir: string;
let parley: Replica;

/** Each describe block has one data folder for all its tests. */
async function newDataDir(): Promise<void> {
  dataDir = await mkdtemp(join(tmpdir(), 'parley-shutdown-'));
  await chmod(dataDir, 0o755);
}

async function removeDataDir(): Promise<void> {
  await parley.end('SIGTERM');
  await rm(dataDir, { recursive: true, force: true });
}

/** Embedded mode in one process, with its own Postgres unless another is given. */
function standalone(env: Record<string, string> = {}): Promise<Replica> {
  return Replica.create('standalone', { PARLEY_DATA_DIR: dataDir, LOG_LEVEL: 'info', ...env });
}

/** Waits for the printed credentials: HTTP is ready before they are written. */
async function start(): Promise<void> {
  const saidBefore = parley.output.length;
  await parley.start();
  await waitFor(
    () => parley.output.slice(saidBefore),
    (said) => said.includes('Parley is ready'),
  );
}

async function credentials() {
  const path = join(dataDir, 'credentials.json');
  return JSON.parse(await readFile(path, 'utf8')) as { url: string; token: string; workspaceId: string };
}

function postgresIsGone(): boolean {
  return !existsSync(join(dataDir, 'postgres/postmaster.pid'));
}

function isFolderFree(): boolean {
  return !existsSync(join(dataDir, 'parley.lock'));
}

async function newBot() {
  const platform = await credentials();
  const { bot } = await clientOf(platform).createBot({});
  return { platform, botId: bot.id, client: clientOf(platform, bot.id) };
}

async function declareHalf(key: string): Promise<HalfSent> {
  const { platform, botId } = await newBot();
  const headers = {
    authorization: `Bearer ${platform.token}`,
    'x-workspace-id': platform.workspaceId,
    'x-bot-id': botId,
    'content-type': 'application/json',
  };
  return HalfSent.begin({
    method: 'PUT',
    url: `${platform.url}/v1/files`,
    headers,
    body: JSON.stringify({ key, size: 1 }),
  });
}

describe('the embedded platform, on a database of the test,', () => {
  let database: EmptyDatabase;
  let embeddings: EmbeddingServer;
  let load: Load | undefined;

  beforeAll(async () => {
    await newDataDir();
    database = await createPlatformDatabase();
    embeddings = await EmbeddingServer.start();
    parley = await standalone({
      DATABASE_URL: database.url,
      EMBEDDINGS_URL: embeddings.url,
      SWEEP_INTERVAL_MS: '500',
      SHUTDOWN_TIMEOUT_MS: String(shutdownTimeoutMs),
    });
  });

  beforeEach(async () => {
    if (!parley.isRunning) await start();
  });

  afterEach(async () => {
    await RowLock.releaseAll();
    await load?.stop();
    load = undefined;
  });

  afterAll(async () => {
    await removeDataDir();
    await embeddings.stop();
    await database.drop();
  });

  it('loses no request under load when stopped, and exits in time, with any open connections', async () => {
    const { platform, botId } = await newBot();
    const ledger = new Ledger();
    ledger.bot(botId);
    load = new Load(platform, ledger, botId, { requestsPerSecond: 40, indexEvery: 1 });
    await load.start();
    await waitFor(
      () => load!.answered,
      (answered) => answered > 100,
    );
    await keepConnections(parley);
    const [late, never] = await Promise.all([declareHalf('late'), declareHalf('never')]);

    const ended = parley.end('SIGTERM');
    await parley.stopsListening();
    const answers = await Promise.all([late.finish(), never.answer]);

    const { answered, failures } = await load.stop();
    await ended;
    process.stderr.write(`standalone: ${answered} answered, ${describeFailures(failures, [parley])}\n`);
    expect(parley.exitCode).toBe(0);
    expect(answers.map(({ status }) => status)).toEqual([200, 503]);
    expect(failures.filter((failure) => isLoss(failure, [parley]))).toEqual([]);
    await start();
    const examined = { ...platform, databaseUrl: database.url, blobsDir: join(dataDir, 'blobs') };
    expect(await new Checker(examined, ledger).findings(60_000)).toEqual([]);
  });

  it('continues indexing after a restart without counting the stop as an attempt', async () => {
    const { client } = await newBot();
    const held = embeddings.hold('Held back');
    const { file } = await client.uploadFile({ key: 'held.txt', content: 'Held back by the server.', index: true });
    await held.reached;

    await parley.end('SIGINT');

    const jobs = await rows('SELECT taken_by, attempts FROM files.indexing_job');
    // Deliveries of other events may exist at this moment.
    const deliveries = await rows(`SELECT attempts FROM events.work WHERE queue = '${indexFile.name}'`);
    expect(jobs).toEqual([{ taken_by: null, attempts: 0 }]);
    expect(deliveries).toEqual([{ attempts: 0 }]);
    held.release();
    await start();
    await waitFor(
      async () => (await client.getFile({ id: file.id })).file.status,
      (status) => status === 'indexing_completed',
    );
  });

  it('exits in time while Postgres does not answer, and answers pending requests', async () => {
    const { client } = await newBot();
    const silence = await RowLock.ofAll(database.url, 'files.file');
    const asked = client.listFiles({}).catch((error: { code: number }) => error.code);
    await silence.awaited(1);

    await parley.end('SIGTERM');

    await silence.release();
    expect(await asked).toBe(504);
  });

  async function rows(query: string): Promise<unknown[]> {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const { rows: found } = await client.query(query);
    await client.end();
    return found;
  }
});

/** Each test starts with the data of the one before. */
describe('the embedded platform, with its own Postgres,', () => {
  beforeAll(newDataDir);

  afterEach(() => parley.end('SIGTERM'));

  afterAll(removeDataDir);

  const leftovers = () => ({ code: parley.exitCode, postgresIsGone: postgresIsGone(), isFolderFree: isFolderFree() });
  const nothing = { code: 0, postgresIsGone: true, isFolderFree: true };

  it.each([
    ['has only begun', () => parley.output.includes('starting')],
    ['has started Postgres', () => !postgresIsGone()],
    ['is all but done', () => parley.isReady()],
  ])('cleans up the embedded Postgres when stopped while its start %s', async (_when, isThere) => {
    parley = await standalone();
    await parley.launch();
    await waitFor(isThere, (is) => is, 60_000);

    await parley.end('SIGTERM');

    expect(leftovers()).toEqual(nothing);
    expect(parley.output).not.toContain('could not start');
  });

  it('treats the SIGINT that npm forwards as the same Ctrl-C, and stops Postgres', async () => {
    parley = await standalone();
    await start();

    parley.signal('SIGINT');
    await parley.end('SIGINT');

    expect(leftovers()).toEqual(nothing);
  });

  it('exits at once at a second Ctrl-C, followed by Postgres', async () => {
    parley = await standalone({ SHUTDOWN_TIMEOUT_MS: '60000' });
    await start();
    const never = await declareHalf('never');
    parley.signal('SIGINT');
    await parley.stopsListening();

    // The first SIGINT may still count as an echo of the Ctrl-C before.
    await waitFor(() => {
      parley.signal('SIGINT');
      return !parley.isRunning;
    });

    never.abort();
    expect(parley.exitCode).toBe(130);
    await waitFor(postgresIsGone, (isGone) => isGone);
  });

  it('finishes pending requests when only npm was killed', async () => {
    const npm = spawn('sleep', ['60']);
    parley = await standalone({ PARLEY_PARENT_PID: String(npm.pid), SHUTDOWN_TIMEOUT_MS: '10000' });
    await start();
    const late = await declareHalf('late');

    await kill(npm);
    await parley.stopsListening();
    const { status } = await late.finish();

    expect(status).toBe(200);
    await parley.ended();
    expect(parley.exitCode).toBe(0);
  });
});

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await waitFor(
    () => child.signalCode,
    (signal) => signal !== null,
  );
}
