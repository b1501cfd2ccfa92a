import { readdir } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import type { Client } from '@botpress/client';
import type { Job } from '@parley/contracts/tables/jobs';
import { clientOf } from '@parley/testing/api';
import { waitFor } from '@parley/testing/wait-for';
import type { Client as Postgres } from 'pg';
import type { Fleet } from './fleet';
import type { Replica } from './replica';
import type { SharedFleet } from './shared-fleet';

const rowCount = 30_000;

/** Slows down each batch and the end of a job, so that a process can be killed in between. */
const slowJobs = `
  CREATE SCHEMA slow_jobs;
  CREATE FUNCTION slow_jobs.linger() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(CASE WHEN NEW.status = 'completed' THEN 2 ELSE 0.05 END); RETURN NEW; END $$;
  CREATE TRIGGER linger BEFORE UPDATE ON tables.job FOR EACH ROW
    WHEN (NEW.rows > OLD.rows OR NEW.status = 'completed') EXECUTE FUNCTION slow_jobs.linger();
`;

export function describeTableJobs(sharedFleet: () => SharedFleet): void {
  describe('a tables process that ends during a job and is restarted', () => {
    let fleet: Fleet;
    let tables: Replica;
    let database: Postgres;
    let client: Client;

    beforeAll(async () => {
      ({ fleet, database } = sharedFleet());
      tables = fleet.the('tables');
      await database.query(slowJobs);
      const { bot } = await clientOf(fleet).createBot({});
      client = clientOf(fleet, bot.id);
    });

    afterAll(async () => {
      await database.query('DROP SCHEMA slow_jobs CASCADE');
    });

    /**
     * Restarts the process and skips the 15 s after which the leases of a killed one end. Its last statement is lost or
     * executed.
     */
    async function restart(signal: 'SIGKILL' | 'SIGTERM', statement: 'lost' | 'done' = 'done'): Promise<void> {
      await tables.end(signal);
      if (statement === 'lost') {
        await database.query(
          `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'parley-tables'`,
        );
      }
      if (signal === 'SIGKILL') {
        await database.query(`UPDATE tables.work SET due_at = now() WHERE state = 'running'`);
      }
      await tables.start();
    }

    async function newTable(name: string): Promise<string> {
      const properties = { place: { type: 'number' }, text: { type: 'string' } };
      return (await client.createTable({ name, schema: { type: 'object', properties } })).table.id;
    }

    async function jobOf(table: string, id: string): Promise<Job> {
      const { jobs } = await client.getTableJobs({ table });
      return jobs.find((job) => job.id === id) as Job;
    }

    function moment(table: string, id: string, isIt: (job: Job) => boolean): Promise<Job> {
      return waitFor(() => jobOf(table, id), isIt, 60_000);
    }

    /** Column `place` of the rows, in the order of their ids. */
    async function placesOf(table: string): Promise<number[]> {
      const { rows } = await database.query<{ place: number }>(
        `SELECT (SELECT (value)::int FROM jsonb_each(data) WHERE key LIKE '%.0') AS place
         FROM tables.row JOIN tables."table" ON table_number = number WHERE "table".id = $1 ORDER BY row.id`,
        [table],
      );
      return rows.map(({ place }) => place);
    }

    const everyPlace = Array.from({ length: rowCount }, (_row, place) => place);

    it.each(['SIGKILL', 'SIGTERM'] as const)('imports every row once after %s', async (signal) => {
      const table = await newTable(`Imported${signal}`);
      const content = ['place,text', ...everyPlace.map((place) => `${place},"some text, and more of it"`)].join('\n');
      const { file } = await client.uploadFile({ key: `${signal}.csv`, content });
      const { job } = await client.importTable({ table, fileId: file.id });
      const seen: number[] = [];

      for (const [rows, statement] of [
        [1, 'lost'],
        [rowCount / 3, 'done'],
        [rowCount / 2, 'lost'],
      ] as const) {
        const before = await moment(table, job.id, (now) => now.rows >= rows);
        seen.push(before.progress);
        await restart(signal, statement);
        expect(await jobOf(table, job.id)).not.toMatchObject({ status: 'completed' });
      }
      const done = await moment(table, job.id, ({ status }) => status === 'completed' || status === 'failed');

      expect(done).toMatchObject({ status: 'completed', rows: rowCount, failedRows: 0, progress: 100 });
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
      expect(await placesOf(table)).toEqual(everyPlace);
      expect(await client.getTable({ table })).toMatchObject({ rows: rowCount });
    });

    it('returns the job of a stopping process, so that the next one need not wait', async () => {
      const table = await newTable('GivenBack');
      const { file } = await client.uploadFile({ key: 'given-back.csv', content: `place\n${everyPlace.join('\n')}` });
      const { job } = await client.importTable({ table, fileId: file.id });
      await moment(table, job.id, ({ rows }) => rows > 0);

      await tables.end('SIGTERM');

      const { rows } = await database.query(
        'SELECT status, state, attempts FROM tables.job JOIN tables.work ON key = job.id WHERE job.id = $1',
        [job.id],
      );
      expect(rows).toEqual([{ status: 'in_progress', state: 'ready', attempts: 0 }]);
      await tables.start();
      await moment(table, job.id, ({ status }) => status === 'completed');
      expect(await placesOf(table)).toEqual(everyPlace);
    });

    it('exports every row once into one file after SIGKILLs during and after the writing', async () => {
      const table = await newTable('Exported');
      for (let from = 0; from < 3_000; from += 1_000) {
        await client.createTableRows({ table, rows: everyPlace.slice(from, from + 1_000).map((place) => ({ place })) });
      }
      const { job } = await client.exportTable({ table, format: 'json' });
      const key = `exports/Exported-${job.id}.json.gz`;
      const uploaded = async () => {
        const { rows } = await database.query<{ content_version: string | null }>(
          'SELECT content_version FROM files.file WHERE key = $1',
          [key],
        );
        return rows[0]?.content_version ?? undefined;
      };

      await moment(table, job.id, ({ status }) => status !== 'pending');
      await restart('SIGKILL');
      // The content is stored, but the job does not know it yet.
      const first = await waitFor(uploaded, (version) => version !== undefined, 60_000);
      await restart('SIGKILL', 'lost');
      const done = await moment(table, job.id, ({ status }) => status === 'completed' || status === 'failed');

      expect(done).toMatchObject({ status: 'completed', rows: 3_000 });
      expect(await uploaded()).not.toBe(first);
      const { files } = await client.listFiles({});
      expect(files.filter((file) => file.key === key).map(({ id }) => id)).toEqual([done.outputFileId]);
      const response = await fetch((await client.getFile({ id: done.outputFileId! })).file.url);
      const rows = JSON.parse(gunzipSync(Buffer.from(await response.arrayBuffer())).toString()) as { place: number }[];
      expect(rows.map(({ place }) => place)).toEqual(everyPlace.slice(0, 3_000));
      expect(await readdir(tables.env['TMPDIR']!)).toEqual([]);
    });
  });
}
