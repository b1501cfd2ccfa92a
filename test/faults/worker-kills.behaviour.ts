import { isDeepStrictEqual } from 'node:util';
import { clientOf } from '@parley/testing/api';
import type { EmbeddingServer } from '@parley/testing/embedding-server';
import { waitFor } from '@parley/testing/wait-for';
import type { Client } from 'pg';
import { Checker } from './checker/checker';
import { document, Ledger } from './checker/ledger';
import type { Fleet } from './fleet';
import { Gate, type Step } from './gate';
import { declare } from './promised-file';
import type { Replica } from './replica';
import type { SharedFleet } from './shared-fleet';

/** A killed worker's job counts as abandoned after 15 s; the rest is one sweep and the work itself. */
const completedWithinMs = 60_000;
const passages = 40;
/** Batch size of the worker for embedding and writing. */
const firstBatch = 32;

/** Moment of a kill: while a statement is blocked, or at the second request for embeddings. */
interface Moment {
  name: string;
  held: Step | 'second batch';
  /** Fate of the statement: lost with its connection, or executed by Postgres. */
  statement?: 'lost' | 'done';
  /** Stage in the job row at the moment. */
  stage: string;
  written: number;
  /** Stored passages at the moment, if different from those with vectors. */
  stored?: number;
}

const isNightly = process.env['PARLEY_NIGHTLY'] === '1';
/** Moments of each test run; `npm run nightly` has the others too. */
const chosen = ['taken', 'half-embedded', 'half-written', 'last-word', 'committing'];
const chosenOfPassages = ['half-written', 'before-the-switch', ...(isNightly ? ['taken', 'half-embedded'] : [])];

const all: Moment[] = [
  { name: 'taken', held: 'parsed', statement: 'lost', stage: 'taken', written: 0 },
  { name: 'parsed', held: 'embedding', statement: 'lost', stage: 'parsed', written: 0 },
  { name: 'half-embedded', held: 'second batch', stage: 'embedding', written: firstBatch },
  {
    name: 'half-written',
    held: 'vectors',
    statement: 'lost',
    stage: 'embedding',
    written: 0,
    stored: firstBatch,
  },
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

const moments = all.filter(({ name }) => isNightly || chosen.includes(name));

/** Moments of a file without parsing, whose passages are stored already. */
const momentsOfPassages: Moment[] = all
  .filter(({ name }) => chosenOfPassages.includes(name))
  .map((moment) => ({ ...moment, name: `passages-${moment.name}`, stored: passages }));

export function describeWorkerKills(sharedFleet: () => SharedFleet): void {
  describe('a worker killed with SIGKILL at each stage of a file and restarted', () => {
    let fleet: Fleet;
    let embeddings: EmbeddingServer;
    let database: Client;
    let gate: Gate;
    let ledger: Ledger;
    let botId: string;

    beforeAll(async () => {
      ({ fleet, embeddings, database } = sharedFleet());
      await database.query(statusHistory);
      gate = await Gate.install(fleet.databaseUrl);
    });

    beforeEach(async () => {
      ledger = new Ledger();
      botId = (await clientOf(fleet).createBot({})).bot.id;
      ledger.bot(botId);
    });

    afterAll(async () => {
      await gate?.remove();
      await database?.query('DROP TABLE public.status_given; DROP FUNCTION public.note_status CASCADE');
    });

    it('completes each file once, without duplicate passages and orphaned vectors', async () => {
      for (const moment of moments) {
        const file = await declare(fleet, ledger, botId, moment.name, { passages });
        await killAt(moment, file.id, file.marks.at(-1)!, async () => expect(await file.upload()).toBe(200));
      }
      const findings = await findingsAfterRestart();
      await repeatEvents(database, fleet.the('files-worker'));

      expect(findings).toEqual([]);
      expect(await statusesOf(database, botId)).toEqual(
        moments.map(({ name }) => ({
          key: `${name}.txt`,
          statuses: 'upload_pending indexing_pending indexing_completed',
        })),
      );
    });

    it('completes each file with given passages once, and shows the former ones until then', async () => {
      for (const moment of momentsOfPassages) {
        const file = await declare(fleet, ledger, botId, moment.name, { passages: 1 });
        expect(await file.upload()).toBe(200);
        await waitFor(
          () => clientOf(fleet, botId).getFile({ id: file.id }),
          (answer) => answer.file.status === 'indexing_completed',
        );
        const marks = Array.from({ length: passages }, (_, place) => `set${moment.name}x${place}x`);
        const { sha256 } = document(moment.name, 1).content;
        await killAt(moment, file.id, marks.at(-1)!, async () => {
          const acknowledge = ledger.attempt(file.promised, { sha256, marks });
          const contents = marks.map((mark) => ({ content: `The passage ${mark} was set.` }));
          await clientOf(fleet, botId).setFilePassages({ id: file.id, passages: contents });
          acknowledge();
        });
        const { passages: shown } = await clientOf(fleet, botId).listFilePassages({ id: file.id });
        expect(shown.map(({ content }) => content)).toEqual([expect.stringContaining(file.marks[0]!)]);
      }

      expect(await findingsAfterRestart()).toEqual([]);
      const once = 'upload_pending indexing_pending indexing_completed';
      expect(await statusesOf(database, botId)).toEqual(
        momentsOfPassages.map(({ name }) => ({
          key: `${name}.txt`,
          statuses: `${once} indexing_pending indexing_completed`,
        })),
      );
    });

    /** Lets `begin` give the worker a job, kills the worker at the moment, and restarts it. */
    async function killAt(moment: Moment, fileId: string, lastMark: string, begin: () => Promise<void>): Promise<void> {
      const { held, statement, stage, written, stored = written } = moment;
      const worker = fleet.the('files-worker');
      const batch = embeddings.hold(held === 'second batch' ? lastMark : 'no text has this');
      if (held !== 'second batch') await gate.close(fileId, held);
      await begin();
      await (held === 'second batch' ? batch.reached : gate.reached());
      const reached = { stage, passages_written: written, passages: stored, vectors: written };
      // A batch may still be written while the next one is embedded.
      await waitFor(
        () => jobOf(database, fileId),
        (job) => isDeepStrictEqual(job, reached),
      );

      await worker.end('SIGKILL');
      if (statement === 'lost') await gate.turnAway();
      await gate.open();
      batch.release();
      await worker.start();
    }

    async function findingsAfterRestart(): Promise<string[]> {
      const started = performance.now();
      const findings = await new Checker(fleet, ledger).findings(completedWithinMs);
      process.stderr.write(`all complete ${Math.round(performance.now() - started)} ms after the last restart\n`);
      if (findings.length > 0) process.stderr.write(fleet.warnings.join('\n'));
      return findings;
    }
  });
}

/** Records every status that a file is given, repeated ones too. */
const statusHistory = `
  CREATE TABLE public.status_given (number serial, file_id text, status text);
  CREATE FUNCTION public.note_status() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO public.status_given (file_id, status) VALUES (NEW.id, NEW.status); RETURN NULL; END $$;
  CREATE TRIGGER note_status AFTER INSERT OR UPDATE OF status ON files.file
    FOR EACH ROW EXECUTE FUNCTION public.note_status();
`;

/** Resolves when the event of every upload so far was published and handled again. */
async function repeatEvents(database: Client, worker: Replica): Promise<void> {
  const before = await countHandled(worker);
  const { rowCount } = await database.query(
    `INSERT INTO files.outbox (id, subject, data)
     SELECT 'again ' || id, subject, data FROM files.outbox WHERE subject = 'files.uploaded'`,
  );
  await waitFor(
    () => countHandled(worker),
    (count) => count >= before + rowCount!,
  );
}

async function countHandled(worker: Replica): Promise<number> {
  const metrics = await (await fetch(`${worker.url}/metrics`)).text();
  const [, count] = /^parley_bus_handled_seconds_count{.*subject="files.uploaded",outcome="ok"} (\d+)$/m.exec(metrics)!;
  return Number(count);
}

async function statusesOf(database: Client, botId: string) {
  const { rows } = await database.query<{ key: string; statuses: string }>(
    `SELECT key, string_agg(given.status, ' ' ORDER BY given.number) AS statuses
     FROM files.file JOIN public.status_given given ON given.file_id = file.id
     WHERE bot_id = $1 GROUP BY key, file.id ORDER BY file.id`,
    [botId],
  );
  return rows;
}

/** State of the job in its row, with the counts of stored passages and vectors. */
async function jobOf(database: Client, fileId: string) {
  const { rows } = await database.query(
    `SELECT stage, passages_written,
       (SELECT count(*)::int FROM files.passage p
         WHERE p.file_id = $1 AND p.content_version = job.content_version) AS passages,
       (SELECT count(*)::int FROM files.local_index_point v
         WHERE v.file_id = $1 AND v.content_version = job.content_version) AS vectors
     FROM files.indexing_job job WHERE file_id = $1`,
    [fileId],
  );
  return rows[0];
}
