import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { hasNatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import { Client } from 'pg';
import { Checker } from './checker/checker';
import { Ledger } from './checker/ledger';
import { Fleet } from './fleet';
import { HalfSent } from './half-sent';
import { KeepAliveClient } from './keep-alive-client';
import { keepConnections } from './keep-connections';
import { Load } from './load';
import { describeFailures, isLoss, wasSeen } from './losses';
import type { Replica } from './replica';
import { RowLock } from './row-lock';
import { SlowRequests } from './slow-requests';

jest.setTimeout(180_000);
const suite = hasNatsServer() ? describe : describe.skip;
/** Apps that serve the requests of the load; others cannot lose any. */
const loadedApps = ['admin', 'files', 'files-worker', 'gateway'] as const;
/** Pace of a rolling restart: 200 on a dedicated machine. */
const rollingRequestsPerSecond = Number(process.env['ROLLING_REQUESTS_PER_SECOND'] ?? 20);
/** Share of indexed uploads: at a higher pace fewer, because indexing takes seconds. */
const mostIndexedOf = 40;
/** Enough for short requests on a busy machine, and less than the lock timeout of 5 s. */
const shutdownTimeoutMs = 3_000;
/** Longer than the balancer's probe interval; locks are held for the same time. */
const rollingGraceMs = 3_000;
const rollingTimeoutMs = 30_000;

suite('SIGTERM to the only replica of an app', () => {
  let fleet: Fleet;
  let embeddings: EmbeddingServer;
  let load: Load | undefined;

  beforeAll(async () => {
    embeddings = await EmbeddingServer.start();
    fleet = await Fleet.start({
      replicasOf: { chat: 0, runtime: 0, runner: 0 },
      env: {
        SWEEP_INTERVAL_MS: '500',
        EMBEDDINGS_URL: embeddings.url,
        SHUTDOWN_TIMEOUT_MS: String(shutdownTimeoutMs),
      },
    });
  });

  afterEach(async () => {
    await load?.stop();
    load = undefined;
    await mend(fleet);
  });

  afterAll(async () => {
    await fleet?.stop();
    await embeddings?.stop();
  });

  it('loses no request of a load while each app in turn is restarted, with any open connections', async () => {
    load = await startLoad(fleet, 40);

    const exitCodes: Record<string, number | null> = {};
    for (const name of loadedApps) {
      const app = fleet.the(name);
      await keepConnections(app);
      await app.end('SIGTERM');
      exitCodes[name] = app.exitCode;
      await app.start();
    }
    await load.answersMore(51);
    const { answered, failures } = await load.stop();

    tell(`${answered} answered, ${describeFailures(failures, fleet.all)}`);
    expect(exitCodes).toEqual(Object.fromEntries(loadedApps.map((name) => [name, 0])));
    expect(failures.filter((failure) => isLoss(failure, fleet.all))).toEqual([]);
  });

  it('answers a request with a late body, and 503 to one whose body never arrives', async () => {
    const { bot } = await newBot(fleet);
    const gateway = fleet.the('gateway');
    const declare = (key: string) =>
      HalfSent.begin({
        method: 'PUT',
        url: `${gateway.url}/v1/files`,
        headers: { ...fleet.headers(bot.id), 'content-type': 'application/json' },
        body: JSON.stringify({ key, size: 1 }),
      });
    const [late, never] = await Promise.all([declare('late'), declare('never')]);

    const ended = gateway.end('SIGTERM');
    await gateway.stopsListening();
    const answers = await Promise.all([late.finish(), never.answer]);

    await ended;
    expect(answers.map(({ status }) => status)).toEqual([200, 503]);
    expect(answers[1]).toMatchObject({
      headers: { 'retry-after': '1' },
      body: expect.stringContaining('Send it again'),
    });
    await gateway.start();
  });

  it('accepts an upload that ends in time and publishes its event; others can be repeated to the same URL', async () => {
    const { bot, client } = await newBot(fleet);
    const [files, worker] = [fleet.the('files'), fleet.the('files-worker')];
    const upload = async (key: string) => {
      const { file } = await client.upsertFile({ key, size: 100, index: true, contentType: 'text/plain' });
      return {
        file,
        sent: await HalfSent.begin({
          method: 'PUT',
          url: file.uploadUrl,
          headers: {},
          body: 'ships '.repeat(17).slice(0, 100),
        }),
      };
    };
    const [inTime, slow] = [await upload('in-time.txt'), await upload('slow.txt')];
    // The worker would otherwise publish events that the files service leaves in the outbox.
    await worker.end('SIGTERM');

    const ended = files.end('SIGTERM');
    await files.stopsListening();
    const answers = await Promise.all([inTime.sent.finish(), slow.sent.answer]);

    await ended;
    expect(answers.map(({ status }) => status)).toEqual([200, 503]);
    expect(await rows(fleet, 'SELECT 1 FROM files.outbox WHERE published_at IS NULL')).toEqual([]);
    expect(await rows(fleet, `SELECT 1 FROM files.upload WHERE bot_id = '${bot.id}'`)).toEqual([]);
    await Promise.all([files.start(), worker.start()]);
    expect((await client.getFile({ id: slow.file.id })).file).toMatchObject({
      status: 'upload_pending',
      failedStatusReason: expect.stringContaining('send it again to the same URL'),
    });
    const again = await put(slow.file.uploadUrl, 'x'.repeat(100), { 'content-type': 'text/plain' });
    expect(again.status).toBe(200);
    for (const { file } of [inTime, slow]) {
      await waitFor(
        async () => (await client.getFile({ id: file.id })).file.status,
        (status) => status === 'indexing_completed',
      );
    }
  });

  it('answers operations that end in time during a shutdown, and sends an error for the others', async () => {
    const { admin, bot, client } = await newBot(fleet);
    const { bot: lateBot } = await admin.createBot({});
    const { file } = await client.upsertFile({ key: 'never', size: 1 });
    const one = new KeepAliveClient();
    const remove = (path: string) =>
      one.send({ method: 'DELETE', url: `${fleet.url}${path}`, headers: fleet.headers(bot.id) });
    const [shortLock, longLock] = [
      await RowLock.take(fleet.databaseUrl, 'admin.bot', [lateBot.id]),
      await RowLock.take(fleet.databaseUrl, 'files.file', [file.id]),
    ];
    const late = remove(`/v1/admin/bots/${lateBot.id}`);
    const never = remove(`/v1/files/${file.id}`);
    await Promise.all([shortLock.awaited(1), longLock.awaited(1)]);

    const [adminApp, filesApp] = [fleet.the('admin'), fleet.the('files')];
    const ended = Promise.all([adminApp.end('SIGTERM'), filesApp.end('SIGTERM')]);
    await adminApp.stopsListening();
    await shortLock.release();
    const answers = await Promise.all([late, never]);

    await ended;
    expect(answers).toMatchObject([
      { status: 200 },
      { status: 504, body: expect.stringContaining('may still be done') },
    ]);
    expect(await rows(fleet, 'SELECT 1 FROM admin.outbox WHERE published_at IS NULL')).toEqual([]);
    await longLock.release();
    one.close();
    await Promise.all([adminApp.start(), filesApp.start()]);
  });

  it('exits by SIGTERM while NATS is down', async () => {
    const apps = [fleet.the('gateway'), fleet.the('files-worker')];
    await fleet.nats.kill();

    await endAll(apps);

    const exitCodes = apps.map(({ exitCode }) => exitCode);
    await fleet.nats.run();
    await startAll(apps);
    expect(exitCodes).toEqual([0, 0]);
  });

  it('exits by SIGTERM while a process waits for NATS at its start', async () => {
    const tables = fleet.the('tables');
    await tables.end('SIGTERM');
    await fleet.nats.kill();
    await tables.launch();
    await waitFor(
      () => tables.output.split('waiting for NATS').length,
      (times) => times > 1,
    );

    await tables.end('SIGTERM');

    const { exitCode } = tables;
    await fleet.nats.run();
    await tables.start();
    expect(exitCode).toBe(0);
  });

  it('exits by SIGTERM while Postgres does not answer, and answers pending requests', async () => {
    const apps = [fleet.the('admin'), fleet.the('files'), fleet.the('files-worker')];
    const { bot } = await newBot(fleet);
    const one = new KeepAliveClient();
    const silence = await Promise.all(
      // The table admin.bot stays unlocked: the gateway may need it to authenticate a request for files.
      ['files.file', 'files.outbox', 'admin.outbox'].map((table) => RowLock.ofAll(fleet.databaseUrl, table)),
    );
    const asked = one.send({ method: 'GET', url: `${fleet.url}/v1/files`, headers: fleet.headers(bot.id) });
    await silence[0]!.awaited(1);

    await endAll(apps);

    const { status } = await asked;
    await Promise.all(silence.map((lock) => lock.release()));
    await startAll(apps);
    one.close();
    expect(status).toBe(504);
  });

  it('exits by SIGTERM while Postgres is down', async () => {
    const services = [fleet.the('files'), fleet.the('files-worker')];
    await allowConnections(fleet, false);
    await waitFor(
      () => Promise.all(services.map((service) => service.isReady())),
      (ready) => !ready.includes(true),
    );

    await endAll(services);

    const exitCodes = services.map(({ exitCode }) => exitCode);
    await allowConnections(fleet, true);
    await startAll(services);
    expect(exitCodes).toEqual([0, 0]);
  });
});

suite('two replicas of each app that has requests', () => {
  let fleet: Fleet;
  let embeddings: EmbeddingServer;
  let load: Load | undefined;

  beforeAll(async () => {
    embeddings = await EmbeddingServer.start();
    fleet = await Fleet.start({
      replicas: 2,
      replicasOf: { hub: 1, tables: 0, chat: 0, runtime: 0, runner: 0 },
      env: {
        SWEEP_INTERVAL_MS: '500',
        EMBEDDINGS_URL: embeddings.url,
        SHUTDOWN_GRACE_MS: String(rollingGraceMs),
        SHUTDOWN_TIMEOUT_MS: String(rollingTimeoutMs),
      },
    });
  });

  afterEach(async () => {
    await load?.stop();
    load = undefined;
    await mend(fleet);
  });

  afterAll(async () => {
    await fleet?.stop();
    await embeddings?.stop();
  });

  it('fails no request of a load while the replicas are restarted one after the other', async () => {
    const ledger = new Ledger();
    load = await startLoad(fleet, rollingRequestsPerSecond, ledger);

    for (const place of [0, 1]) {
      const leaving = loadedApps.map((name) => fleet.replicas(name)[place]!);
      const slow = await SlowRequests.begin(fleet, place);
      tell(`${new Date().toISOString()} replica ${place} of each leaves: ${leaving.map(({ url }) => url).join(' ')}`);
      const ended = endAll(leaving);
      await fleet.replicas('gateway')[place]!.stopsListening();
      const answers = await slow.finish();

      tell(`ended after ${(await ended).map((ms, i) => `${loadedApps[i]} ${Math.round(ms)} ms`).join(', ')}`);
      expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
      expect(leaving.map(({ exitCode }) => exitCode)).toEqual(leaving.map(() => 0));
      await startAll(leaving);
      await Promise.all(fleet.balancers.map((balancer) => balancer.allReady()));
      await load.answersMore(51);
    }
    const { answered, failures } = await load.stop();

    const resets = fleet.balancers.flatMap(({ idleResets }) => idleResets);
    tell(`${answered} requests answered, ${resets.length} idle connections reset`);
    // Prints which requests failed, how and when, and whether they reached a process.
    for (const failure of failures)
      tell(JSON.stringify({ ...failure, reached: wasSeen(failure.requestId, fleet.all) }));
    expect(failures).toEqual([]);
    expect(fleet.balancers.flatMap(({ refused }) => refused)).toEqual([]);
    expect(resets.filter(({ requestId }) => wasSeen(requestId, fleet.all))).toEqual([]);
    expect(await new Checker(fleet, ledger).findings(60_000)).toEqual([]);
  });

  it('writes only log lines to the output of replicas', () => {
    const others = fleet.all.flatMap(({ name, output }) =>
      output.split('\n').flatMap((line) => (line === '' || line.startsWith('{') ? [] : [`${name}: ${line}`])),
    );
    expect(others).toEqual([]);
  });

  it('reports on /readyz whether a replica accepts requests', async () => {
    const [leaving, staying] = fleet.replicas('gateway') as [Replica, Replica];
    const ended = leaving.end('SIGTERM');
    await waitFor(
      () => leaving.isReady(),
      (ready) => !ready,
    );

    const whileStopping = await new KeepAliveClient().send({
      method: 'GET',
      url: `${leaving.url}/readyz`,
      headers: {},
    });
    const served = await new KeepAliveClient().send({
      method: 'GET',
      url: `${leaving.url}/v1/admin/workspaces`,
      headers: fleet.headers(''),
    });

    expect(whileStopping).toMatchObject({ status: 503, headers: { connection: 'close' } });
    expect(JSON.parse(whileStopping.body)).toEqual({ status: 'not ready', waitingFor: ['process'] });
    expect(served).toMatchObject({ status: 200, headers: { connection: 'close' } });
    expect(await staying.isReady()).toBe(true);
    await ended;
    await leaving.start();

    await fleet.nats.kill();
    const [gateways] = fleet.balancers;
    await waitFor(
      () => gateways!.readyCount,
      (count) => count === 0,
    );
    await fleet.nats.run();
    await gateways!.allReady();
    await Promise.all(fleet.all.map((replica) => replica.ready()));
  });

  it('passes the job of a stopping worker to the other without counting an attempt', async () => {
    const { client } = await newBot(fleet);
    const workers = fleet.replicas('files-worker');
    const held = embeddings.hold('Held back');
    const { file } = await client.uploadFile({
      key: 'held.txt',
      content: 'Held back by the embedding server.',
      index: true,
    });
    await held.reached;
    const job = async () =>
      (
        await rows<{ taker: string; attempts: number }>(
          fleet,
          `SELECT taken_by AS taker, attempts FROM files.indexing_job WHERE file_id = '${file.id}'`,
        )
      )[0]!;
    const { taker } = await job();
    const worker = workers.find(({ pid }) => taker.endsWith(`:${pid}`))!;

    await worker.end('SIGTERM');
    const given = await waitFor(job, (found) => found.taker !== null && found.taker !== taker, 60_000);

    expect(given.attempts).toBe(1);
    held.release();
    await waitFor(
      async () => (await client.getFile({ id: file.id })).file.status,
      (status) => status === 'indexing_completed',
    );
    await worker.start();
  });
});

function endAll(replicas: Replica[]): Promise<number[]> {
  return Promise.all(replicas.map((replica) => replica.end('SIGTERM')));
}

async function startAll(replicas: Replica[]): Promise<void> {
  await Promise.all(replicas.map((replica) => replica.start()));
}

async function mend(fleet: Fleet): Promise<void> {
  await RowLock.releaseAll();
  if (!fleet.nats.isRunning) await fleet.nats.run();
  await allowConnections(fleet, true);
  const ready = await Promise.all(fleet.all.map((replica) => replica.isReady()));
  const others = fleet.all.filter((_replica, i) => !ready[i]);
  await Promise.all(others.map((replica) => replica.end('SIGKILL')));
  await startAll(others);
}

async function allowConnections({ databaseUrl }: Fleet, allowed: boolean): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  const server = new Client({ connectionString: databaseUrl.replace(/[^/]*$/, 'postgres') });
  await server.connect();
  await server.query(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS ${allowed}`);
  if (!allowed) await server.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
  await server.end();
}

async function newBot(fleet: Fleet) {
  const admin = clientOf(fleet);
  const { bot } = await admin.createBot({});
  return { admin, bot, client: clientOf(fleet, bot.id) };
}

async function startLoad(fleet: Fleet, requestsPerSecond: number, ledger = new Ledger()): Promise<Load> {
  const { bot } = await newBot(fleet);
  ledger.bot(bot.id);
  const indexEvery = Math.ceil(requestsPerSecond / mostIndexedOf);
  const load = new Load(fleet, ledger, bot.id, { requestsPerSecond, indexEvery });
  await load.start();
  return load;
}

async function rows<Row = unknown>({ databaseUrl }: Fleet, query: string): Promise<Row[]> {
  const database = new Client({ connectionString: databaseUrl });
  await database.connect();
  const { rows: found } = await database.query(query);
  await database.end();
  return found as Row[];
}

function tell(what: string): void {
  process.stderr.write(`${what}\n`);
}
