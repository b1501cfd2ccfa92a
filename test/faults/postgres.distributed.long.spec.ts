import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalPostgres, startLocalPostgres } from '@parley/local-postgres/local-postgres';
import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import { BreakableLink } from '@parley/testing/breakable-link';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { freePort } from '@parley/testing/free-port';
import { hasNatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import { Client } from 'pg';
import { Checker } from './checker/checker';
import { Ledger } from './checker/ledger';
import { Fleet } from './fleet';
import { Load } from './load';
import type { Failure } from './recorded-requests';

jest.setTimeout(180_000);
const suite = hasNatsServer() ? describe : describe.skip;

const requestsPerSecond = 30;
/** Two connections per service: code that held one while it waited for another would deadlock. */
const poolSize = 2;
const statementTimeoutMs = 3_000;
/** Consecutive answers without a failure after which the fault counts as over: some seconds of the load. */
const calmAnswers = 100;

const unavailable = { status: 503, retryAfter: '1', body: { code: 503, type: 'Internal' } };
const maybeDone = { status: 504, body: { code: 504, type: 'OperationTimeout' } };

let folder: string;
let postgres: LocalPostgres;
let embeddings: EmbeddingServer;
let fleet: Fleet;
/** Link between the files service and Postgres; other services connect directly. */
let link: BreakableLink;
/** Direct connection of the test. */
let database: Client;

suite('the platform and its Postgres', () => {
  const ledger = new Ledger();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-fault-postgres-'));
    // As root, Postgres runs as another user, which must pass through the folder.
    await chmod(folder, 0o711);
    postgres = await start(await freePort());
    embeddings = await EmbeddingServer.start();
    link = await BreakableLink.to(postgres.url);
    fleet = await Fleet.start({
      databaseUrl: postgres.url,
      replicasOf: { runner: 0 },
      env: {
        DATABASE_POOL_SIZE: String(poolSize),
        DATABASE_TIMEOUT_MS: String(statementTimeoutMs),
        EMBEDDINGS_URL: embeddings.url,
        SWEEP_INTERVAL_MS: '500',
      },
      envOf: { files: { DATABASE_URL: link.url } },
    });
  });

  afterAll(async () => {
    await fleet?.stop();
    await link?.stop();
    await embeddings?.stop();
    await postgres?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  describe('under load', () => {
    let load: Load;

    beforeAll(async () => {
      load = new Load(fleet, ledger, await newBot(ledger), { requestsPerSecond, indexEvery: 1 });
      await load.start();
    });

    afterAll(() => load?.stop());

    it.each<[string, (load: Load) => Promise<void>]>([
      ['is shut down and started again', () => restart('SIGINT')],
      ['is killed and recovers', () => restart('SIGKILL')],
      ['is away', stayAway],
      ['has no connection left', takeConnections],
      ['keeps a table locked', lockFiles],
      ['cannot be reached, which nobody tells', swallow],
    ])('answers clean errors while Postgres %s, and none afterwards', async (name, happens) => {
      const before = load.failures.length;
      await load.answersMore(10);
      const startedAt = Date.now();

      await happens(load);
      const backAt = Date.now();
      await calm(load);

      const failures = load.failures.slice(before);
      const lastMs = Math.max(...failures.map(({ endedAt }) => endedAt)) - backAt;
      const slowestMs = Math.max(...failures.map(({ tookMs }) => tookMs));
      process.stderr.write(
        `Postgres ${name}: ${backAt - startedAt} ms, ${failures.length} errors, the slowest after ${slowestMs} ms, ` +
          `the last ${lastMs} ms after it was back\n`,
      );
      expect(failures).not.toEqual([]);
      expect(failures.filter(({ endedAt }) => endedAt < startedAt)).toEqual([]);
      expect(failures.filter((failure) => !isClean(failure))).toEqual([]);
      expect(fleet.ended).toEqual([]);
    });
  });

  it('answers requests that wait for a connection once the blocking lock is released', async () => {
    const botId = await newBot(ledger);
    const { body } = await declare(botId);
    const { id } = (body as Declared).file;
    const client = await connect();
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM files.file WHERE id = $1 FOR UPDATE', [id]);
    const declaring = Array.from({ length: 2 * poolSize }, () => declare(botId));
    await waitFor(
      // Unlike pg_stat_activity, also lists connections that are opened after its first use in this transaction.
      () => client.query('SELECT 1 FROM pg_locks WHERE NOT granted'),
      ({ rowCount }) => rowCount === poolSize,
    );
    const reading = Array.from({ length: 5 }, () => read(botId, id));

    await client.query('ROLLBACK');

    const answers = await Promise.all([...declaring, ...reading]);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    await client.end();
  });

  describe('a connection that breaks', () => {
    let botId: string;

    beforeAll(async () => {
      database = await connect();
      await database.query(`CREATE SCHEMA faults;
        CREATE FUNCTION faults.pass() RETURNS trigger LANGUAGE plpgsql
          AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NEW; END $$`);
    });

    afterAll(() => database?.end());

    beforeEach(async () => {
      botId = await newBot(ledger);
    });

    it('changes nothing if a connection breaks between a declaration and the record of the replaced file', async () => {
      await declare(botId);
      const stored = () => rows('SELECT * FROM files.file WHERE bot_id = $1', botId);
      const before = await stored();
      const gate = await Gate.close(`BEFORE INSERT ON files.work FOR EACH ROW WHEN (NEW.tenant = '${botId}')`);
      const declaring = declare(botId);

      await gate.cut();

      expect(await declaring).toMatchObject(unavailable);
      expect(await stored()).toEqual(before);
      await gate.open();
      expect(await declare(botId)).toMatchObject({ status: 200 });
    });

    it('leaves nothing of a declaration, which can be retried, if a connection breaks during its commit', async () => {
      const gate = await Gate.close(commitOf(botId));
      const declaring = declare(botId);

      await gate.cut();

      expect(await declaring).toMatchObject(unavailable);
      expect(await rows('SELECT 1 FROM files.file WHERE bot_id = $1', botId)).toEqual([]);
      expect(await rows('SELECT 1 FROM files.work WHERE tenant = $1', botId)).toEqual([]);
      await gate.open();
      expect(await declare(botId)).toMatchObject({ status: 200 });
    });

    it('returns an unknown outcome if a connection breaks between commit and answer of a declaration', async () => {
      const gate = await Gate.close(commitOf(botId));
      const declaring = declare(botId);
      await gate.reached();

      link.state = 'swallows answers';
      await gate.open();
      const [row] = await waitFor(
        () => rows('SELECT id FROM files.file WHERE bot_id = $1', botId),
        (found) => found.length > 0,
      );
      link.cut();
      link.state = 'carries';

      expect(await declaring).toMatchObject(maybeDone);
      expect(await declare(botId)).toMatchObject({ status: 200, body: { file: { id: row!['id'] } } });
    });

    it('keeps the upload URL valid if a connection breaks between the job of an upload and its event', async () => {
      const { body } = await declare(botId);
      const { id, uploadUrl } = (body as Declared).file;
      const gate = await Gate.close(
        `BEFORE INSERT ON files.outbox FOR EACH ROW
         WHEN (NEW.subject = 'files.uploaded' AND NEW.data ->> 'botId' = '${botId}')`,
      );
      const uploading = upload(uploadUrl);

      await gate.cut();

      expect(await uploading).toMatchObject(unavailable);
      expect(await rows('SELECT status, size, content_version FROM files.file WHERE id = $1', id)).toEqual([
        { status: 'upload_pending', size: null, content_version: null },
      ]);
      for (const table of ['indexing_job', 'upload']) {
        expect(await rows(`SELECT 1 FROM files.${table} WHERE file_id = $1`, id)).toEqual([]);
      }
      await gate.open();
      expect(await upload(uploadUrl)).toMatchObject({ status: 200 });
      await indexed(id);
    });

    it('repeats the job if a connection breaks between the switch of versions and its cleanup record', async () => {
      const { body } = await declare(botId);
      const { id, uploadUrl } = (body as Declared).file;
      const gate = await Gate.close(`BEFORE INSERT ON files.work FOR EACH ROW WHEN (NEW.tenant = '${botId}')`);
      await upload(uploadUrl);

      await gate.cut();

      expect(
        await rows(
          `SELECT status, active_version, (SELECT count(*) FROM files.indexing_job WHERE file_id = id) AS jobs
           FROM files.file WHERE id = $1`,
          id,
        ),
      ).toEqual([{ status: 'indexing_pending', active_version: null, jobs: '1' }]);
      await gate.open();
      await indexed(id);
    });

    it('replaces an idle connection that breaks without an error', async () => {
      await declare(botId);

      await database.query(
        `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'parley-%'`,
      );

      expect(await declare(botId)).toMatchObject({ status: 200 });
    });
  });

  it('loses nothing after all faults of Postgres, and settles', async () => {
    // Makes interrupted uploads and cleanup due now rather than after ten minutes and one.
    const client = await connect();
    await client.query(`UPDATE files.upload SET touched_at = touched_at - interval '10 minutes'`);
    await client.query(`UPDATE files.work SET due_at = now() WHERE state = 'waiting'`);
    await client.end();

    expect(await new Checker(fleet, ledger).findings(60_000)).toEqual([]);
    expect(fleet.all.filter(({ output }) => output.includes('a rejection was not handled'))).toEqual([]);
  });
});

async function newBot(ledger: Ledger): Promise<string> {
  const { bot } = await clientOf(fleet).createBot({});
  ledger.bot(bot.id);
  return bot.id;
}

/** Resolves after many consecutive successful requests. */
async function calm(load: Load): Promise<void> {
  for (let failed = -1; failed < load.failures.length;) {
    failed = load.failures.length;
    await load.answersMore(calmAnswers);
  }
}

/** Clean errors: not processed (503), or for a change, possibly processed (504). */
function isClean({ outcome, retryAfter, request }: Failure): boolean {
  const isUndone = outcome.startsWith('503 ') && outcome.includes('"type":"Internal"') && retryAfter === '1';
  const isOpen = outcome.startsWith('504 ') && outcome.includes('"type":"OperationTimeout"');
  return isUndone || (isOpen && !request.startsWith('GET'));
}

function start(port: number): Promise<LocalPostgres> {
  return startLocalPostgres({ folder, port, settings: { max_connections: 25 } });
}

async function connect(): Promise<Client> {
  const client = new Client({
    connectionString: postgres.url,
    // A failed test must not block others.
    options: '-c idle_in_transaction_session_timeout=10s -c lock_timeout=5s',
  });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** The embedded server restarts itself. */
async function restart(signal: NodeJS.Signals): Promise<void> {
  const before = postgres.pid!;
  process.kill(before, signal);
  await waitFor(
    () => postgres.pid,
    (pid) => pid !== null && pid !== before,
  );
}

async function stayAway(load: Load): Promise<void> {
  await postgres.stop();
  await load.failsMore(40);
  postgres = await start(Number(new URL(postgres.url).port));
}

async function takeConnections(load: Load): Promise<void> {
  const taken = [await connect()];
  for (let isFull = false; !isFull;) {
    const attempts = await Promise.allSettled(Array.from({ length: 10 }, connect));
    const more = attempts.filter((attempt) => attempt.status === 'fulfilled').map(({ value }) => value);
    taken.push(...more);
    if (more.length > 0) continue;
    const { rowCount } = await taken[0]!.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'parley-%'`,
    );
    isFull = rowCount === 0;
  }
  await load.failsMore(20);
  await Promise.all(taken.map((client) => client.end()));
}

/** Locks the files until some requests have waited for a connection or a lock until the timeout. */
async function lockFiles(load: Load): Promise<void> {
  const client = await connect();
  await client.query('BEGIN; LOCK TABLE files.file');
  await load.failsMore(20);
  await client.end();
}

async function swallow(load: Load): Promise<void> {
  link.state = 'swallows everything';
  await load.failsMore(20);
  link.state = 'carries';
}

/** Blocks statements in Postgres. Needs no hook in the platform. */
class Gate {
  /** @param trigger statements to block, in the syntax of `CREATE TRIGGER`. */
  static async close(trigger: string): Promise<Gate> {
    const kind = trigger.includes('DEFERRED') ? 'CONSTRAINT TRIGGER' : 'TRIGGER';
    await database.query('SELECT pg_advisory_lock(1)');
    await database.query(`CREATE ${kind} gate ${trigger} EXECUTE FUNCTION faults.pass()`);
    return new Gate(/ON (\S+)/.exec(trigger)![1]!);
  }

  private constructor(private readonly table: string) {}

  reached(): Promise<Record<string, unknown>[]> {
    return waitFor(
      () => rows('SELECT pid FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))'),
      (waiting) => waiting.length > 0,
    );
  }

  /** Cuts the connection of the statement that waits at the gate. The gate stays closed. */
  async cut(): Promise<void> {
    for (const { pid } of await this.reached()) await database.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
  }

  async open(): Promise<void> {
    await database.query('SELECT pg_advisory_unlock(1)');
    await database.query(`DROP TRIGGER gate ON ${this.table}`);
  }
}

/** Trigger for the commit of a change to a file of the bot. */
function commitOf(botId: string): string {
  return `AFTER INSERT OR UPDATE ON files.file DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.bot_id = '${botId}')`;
}

async function rows(text: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
  return (await database.query<Record<string, unknown>>(text, values)).rows;
}

const content = 'A text of one passage.';

interface Declared {
  file: { id: string; uploadUrl: string };
}

function declare(botId: string) {
  const input = { key: 'cut.txt', size: content.length, index: true };
  return ask('PUT', '/v1/files', botId, JSON.stringify(input));
}

function read(botId: string, fileId: string) {
  return ask('GET', `/v1/files/${fileId}`, botId);
}

async function ask(method: string, path: string, botId: string, body?: string) {
  const headers = new Headers({ authorization: `Bearer ${fleet.token}`, 'x-bot-id': botId });
  if (body) headers.set('content-type', 'application/json');
  return answerOf(await fetch(`${fleet.url}${path}`, { method, headers, body }));
}

async function upload(uploadUrl: string) {
  return answerOf(await put(uploadUrl, content));
}

async function answerOf(response: Response) {
  const text = await response.text();
  const body = text === '' ? undefined : (JSON.parse(text) as unknown);
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body };
}

async function indexed(fileId: string): Promise<void> {
  await waitFor(
    () => rows('SELECT status FROM files.file WHERE id = $1', fileId),
    ([file]) => file?.['status'] === 'indexing_completed',
    30_000,
  );
}
