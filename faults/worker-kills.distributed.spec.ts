import { clientOf } from '@parley/testing/api';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { hasNatsServer } from '@parley/testing/nats-server';
import { until } from '@parley/testing/until';
import { Client } from 'pg';
import { Checker } from './checker/checker';
import { Ledger } from './checker/ledger';
import { Fleet } from './fleet';
import { Gate, type Step } from './gate';
import { declare } from './promised-file';
import type { Replica } from './replica';

jest.setTimeout(120_000);
const suite = hasNatsServer() ? describe : describe.skip;

/** A killed worker's job counts as abandoned after 15 s; the rest is one look of the sweeper and the work itself. */
const completedWithinMs = 30_000;
const passages = 40;
/** The worker embeds and writes 32 at once. */
const firstBatch = 32;

/** When a worker is killed: at a statement that it does not get past, or at its second request for embeddings. */
interface Moment {
  name: string;
  held: Step | 'second batch';
  /** What the statement becomes that the worker has sent: its connection is cut, or Postgres carries it out all the same. */
  statement?: 'lost' | 'done';
  /** What the row of the job says by then. */
  stage: string;
  written: number;
}

const moments: Moment[] = [
  { name: 'taken', held: 'parsed', statement: 'lost', stage: 'taken', written: 0 },
  { name: 'parsed', held: 'embedding', statement: 'lost', stage: 'parsed', written: 0 },
  { name: 'half-embedded', held: 'second batch', stage: 'embedding', written: firstBatch },
  { name: 'vectors-written', held: 'switching', statement: 'lost', stage: 'written', written: passages },
  { name: 'last-word', held: 'switching', statement: 'done', stage: 'written', written: passages },
  { name: 'before-the-switch', held: 'indexing_completed', statement: 'lost', stage: 'switching', written: passages },
  {
    name: 'committing',
    held: 'commit of indexing_completed',
    statement: 'done',
    stage: 'switching',
    written: passages,
  },
];

suite('a worker killed with SIGKILL at each stage of a file, and started again', () => {
  let embeddings: EmbeddingServer;
  let fleet: Fleet;
  let database: Client;
  let gate: Gate;

  beforeAll(async () => {
    embeddings = await EmbeddingServer.start();
    fleet = await Fleet.start({ env: { EMBEDDINGS_URL: embeddings.url, SWEEP_INTERVAL_MS: '500' } });
    database = new Client({ connectionString: fleet.databaseUrl });
    await database.connect();
    await database.query(statusHistory);
    gate = await Gate.install(fleet.databaseUrl);
  });

  afterAll(async () => {
    await Promise.all([gate?.remove(), database?.end()]);
    await fleet?.stop();
    await embeddings?.stop();
  });

  it('completes each file once, with no passage twice and no vector orphaned', async () => {
    const ledger = new Ledger();
    const { bot } = await clientOf(fleet).createBot({});
    ledger.bot(bot.id);
    const worker = fleet.the('files-worker');

    for (const { name, held, statement, stage, written } of moments) {
      const file = await declare(fleet, ledger, bot.id, name, { passages });
      const batch = embeddings.hold(held === 'second batch' ? file.marks.at(-1)! : 'no text has this');
      if (held !== 'second batch') await gate.close(file.id, held);
      expect(await file.upload()).toBe(200);
      await (held === 'second batch' ? batch.reached : gate.reached());
      const job = await jobOf(database, file.id);
      expect({ name, ...job }).toEqual({ name, stage, passages_written: written, passages: written, vectors: written });

      await worker.end('SIGKILL');
      if (statement === 'lost') await gate.turnAway();
      await gate.open();
      batch.release();
      await worker.start();
    }
    const started = performance.now();
    const findings = await new Checker(fleet, ledger).findings(completedWithinMs);
    const elapsedMs = Math.round(performance.now() - started);
    await repeatEvents(database, worker);

    process.stderr.write(`all complete ${elapsedMs} ms after the last restart\n`);
    if (findings.length > 0) process.stderr.write(fleet.warnings.join('\n'));
    expect(findings).toEqual([]);
    expect(await statusesOf(database)).toEqual(
      moments.map(({ name }) => ({
        key: `${name}.txt`,
        statuses: 'upload_pending indexing_pending indexing_completed',
      })),
    );
  });
});

/** Every status that a file is given is written down, the same one again too. */
const statusHistory = `
  CREATE TABLE public.status_given (number serial, file_id text, status text);
  CREATE FUNCTION public.note_status() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO public.status_given (file_id, status) VALUES (NEW.id, NEW.status); RETURN NULL; END $$;
  CREATE TRIGGER note_status AFTER INSERT OR UPDATE OF status ON files.file
    FOR EACH ROW EXECUTE FUNCTION public.note_status();
`;

/** Resolves when every event so far was handled once more. */
async function repeatEvents(database: Client, worker: Replica): Promise<void> {
  const before = await countHandled(worker);
  const { rowCount } = await database.query(
    "INSERT INTO files.outbox (id, subject, data) SELECT 'again ' || id, subject, data FROM files.outbox",
  );
  await until(
    () => countHandled(worker),
    (count) => count >= before + rowCount!,
  );
}

async function countHandled(worker: Replica): Promise<number> {
  const metrics = await (await fetch(`${worker.url}/metrics`)).text();
  const [, count] = /^parley_bus_handled_seconds_count{.*subject="files.uploaded",outcome="ok"} (\d+)$/m.exec(metrics)!;
  return Number(count);
}

async function statusesOf(database: Client) {
  const { rows } = await database.query<{ key: string; statuses: string }>(
    `SELECT key, string_agg(given.status, ' ' ORDER BY given.number) AS statuses
     FROM files.file JOIN public.status_given given ON given.file_id = file.id GROUP BY key, file.id ORDER BY file.id`,
  );
  return rows;
}

/** How far the row of the job says that it is, and what is there of it. */
async function jobOf(database: Client, fileId: string) {
  const { rows } = await database.query(
    `SELECT stage, passages_written,
       (SELECT count(*)::int FROM files.passage WHERE file_id = $1) AS passages,
       (SELECT count(*)::int FROM files.local_index_point WHERE file_id = $1) AS vectors
     FROM files.indexing_job WHERE file_id = $1`,
    [fileId],
  );
  return rows[0];
}
