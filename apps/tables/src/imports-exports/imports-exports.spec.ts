import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isErrored } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Client } from '@botpress/client';
import { LoopShare } from '@parley/background/loop-share';
import type { Job } from '@parley/contracts/tables/jobs';
import { Database } from '@parley/persistence/database';
import {
  type Account,
  type AdminSettings,
  configured,
  type PublicApi,
  startPublicApi,
} from '@parley/testing/public-api';
import { joinService } from '@parley/testing/joined-service';
import { freePort } from '@parley/testing/free-port';
import { waitFor } from '@parley/testing/wait-for';
import type { Platform } from '@parley/service/platform';
import { AdminModule } from '../../../admin/src/admin.module';
import { FilesModule } from '../../../files/src/files.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { TablesConfig } from '../config';
import { JobsRepository } from '../jobs/jobs.repository';
import type { JobCaller, JobTask } from '../jobs/job.entity';
import { TablesModule } from '../tables.module';
import { BotFilesClient } from './bot-files.client';

let api: PublicApi;
let filesUrl: string;
let blobsDir: string;
let alice: Account;
let client: Client;

/** Public address that the tables service cannot reach: it has to use the internal one. */
const contentUrl = 'https://content.parley.test/some/path';

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-tables-'));
  const port = await freePort();
  filesUrl = `http://127.0.0.1:${port}`;
  const files = {
    register: (settings: AdminSettings, platform: Platform) =>
      FilesModule.register(
        {
          ...settings,
          blobsDir,
          contentUrl,
          s3Region: 'us-east-1',
          maxUploadBytes: 5_000_000,
          sweepIntervalMs: 5_000,
          vectorCacheMb: 1,
          nextEmbeddingsModel: 'none',
          embeddingsModel: '',
          embeddingsTimeoutMs: 1_000,
        },
        platform,
      ),
  };
  const tables = configured(TablesModule, TablesConfig, { filesUrl });
  api = await startPublicApi(GatewayModule, AdminModule, files, tables);
  await api.apps[2]!.listen(port, '127.0.0.1');
  alice = await api.newAccount();
  client = await newBot(alice);
});

afterAll(async () => {
  await api?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

async function newBot({ client: owner, token, workspaceId }: Account): Promise<Client> {
  const { bot } = await owner.createBot({ name: 'shop' });
  return api.client(token, workspaceId, bot.id);
}

const columns = {
  name: { type: 'string' },
  price: { type: 'number' },
  sold: { type: 'boolean' },
  tags: { type: 'array' },
};
let number = 0;

async function newTable(options: { keyColumn?: string; factor?: number } = {}, owner = client): Promise<string> {
  const schema = { type: 'object', properties: columns };
  const { table } = await owner.createTable({ name: `Goods${++number}Table`, schema, ...options });
  return table.id;
}

const atFiles = (url: string) => filesUrl + url.slice(url.indexOf('/content/'));

async function upload(content: string | Uint8Array, contentType = 'text/csv', owner = client): Promise<string> {
  const bytes = Buffer.from(content as Uint8Array);
  const { file } = await owner.upsertFile({ key: `goods-${++number}`, size: bytes.length, contentType });
  const response = await fetch(atFiles(file.uploadUrl), { method: 'PUT', body: bytes });
  if (!response.ok) throw new Error(await response.text());
  return file.id;
}

async function download(fileId: string): Promise<Buffer> {
  const { file } = await client.getFile({ id: fileId });
  return Buffer.from(await (await fetch(atFiles(file.url))).arrayBuffer());
}

function ended(table: string, jobId: string): Promise<Job> {
  return waitFor(
    async () => (await client.getTableJobs({ table })).jobs.find(({ id }) => id === jobId) as Job,
    ({ status }) => status === 'completed' || status === 'failed',
    20_000,
  );
}

async function imported(table: string, content: string | Uint8Array, contentType?: string): Promise<Job> {
  const { job } = await client.importTable({ table, fileId: await upload(content, contentType) });
  return ended(table, job.id);
}

async function exported(table: string, options: { format?: 'csv' | 'json'; compress?: boolean } = {}): Promise<Buffer> {
  const { job } = await client.exportTable({ table, ...options });
  const { outputFileId } = await ended(table, job.id);
  return download(outputFileId!);
}

async function valuesOf(table: string): Promise<Record<string, unknown>[]> {
  const text = (await exported(table, { format: 'json', compress: false })).toString();
  return (JSON.parse(text) as Record<string, unknown>[]).map(
    ({ createdAt: _createdAt, updatedAt: _updatedAt, ...values }) => values,
  );
}

describe('importTable', () => {
  it('imports a CSV file and reports the counts', async () => {
    const table = await newTable();
    const fileId = await upload('name,price,sold,tags\ncup,3.5,true,"[""new""]"\npot,,,\n');

    const { job } = await client.importTable({ table, fileId });

    expect(job).toMatchObject({ type: 'import', tableId: table, inputFileId: fileId, outputFileId: null });
    expect(await ended(table, job.id)).toMatchObject({
      id: job.id,
      status: 'completed',
      progress: 100,
      rows: 2,
      failedRows: 0,
    });
    expect(await valuesOf(table)).toEqual([
      { id: 1, name: 'cup', price: 3.5, sold: true, tags: ['new'] },
      { id: 2, name: 'pot', price: null, sold: null, tags: null },
    ]);
  });

  it.each([
    ['a JSON array', '[{"name":"cup"},{"name":"pot"}]', 'application/json'],
    ['JSON in lines', '{"name":"cup"}\n{"name":"pot"}\n', 'application/x-ndjson'],
    ['CSV of a spreadsheet', 'sep=;\r\nName;Price\r\ncup;1\r\npot;2\r\n', 'text/csv'],
    ['gzipped CSV', gzipSync('name\ncup\npot\n'), 'application/octet-stream'],
  ])('imports %s', async (_what, content, contentType) => {
    const table = await newTable();

    expect(await imported(table, content, contentType)).toMatchObject({ status: 'completed', rows: 2 });

    expect(await valuesOf(table)).toMatchObject([{ name: 'cup' }, { name: 'pot' }]);
  });

  it('rests between the rows of a long file that is imported or exported', async () => {
    const table = await newTable();
    const rest = jest.spyOn(LoopShare.prototype, 'rest');

    await imported(table, `name\n${'Tea,too many\n'.repeat(20_000)}${'Tea\n'.repeat(5_000)}`);
    const restsOfImport = rest.mock.calls.length;
    await exported(table);

    expect(restsOfImport).toBeGreaterThan(1);
    expect(rest.mock.calls.length).toBeGreaterThan(restsOfImport);
    rest.mockRestore();
  });

  it('imports the valid rows in order, over several batches, and reports the first invalid ones', async () => {
    const table = await newTable();
    const lines = Array.from({ length: 2_500 }, (_line, index) => `row ${index},${index % 10 === 7 ? 'x' : index}`);

    const job = await imported(table, ['name,price,colour', ...lines].join('\n'));

    expect(job).toMatchObject({ status: 'completed', rows: 2_250, failedRows: 250 });
    expect(job.errors).toHaveLength(100);
    expect(job.errors![1]).toMatch(/^Line 19: .*price.*number[^.]*\.$/);
    expect(job.warnings).toEqual(['colour is not a column of this table and was ignored.']);
    const prices = (await valuesOf(table)).map(({ price }) => price);
    expect(prices).toEqual(lines.map((_line, index) => index).filter((index) => index % 10 !== 7));
  });

  it.each([
    ['JSON', 'application/json', (deep: string) => `[{"name":"cup","tags":${deep}},{"name":"pot"}]`],
    ['CSV', 'text/csv', (deep: string) => `name,tags\ncup,"${deep}"\npot,\n`],
  ])('rejects imported rows of %s that are nested too deeply', async (_format, contentType, content) => {
    const table = await newTable();
    const deep = '['.repeat(10_000) + ']'.repeat(10_000);

    const job = await imported(table, content(deep), contentType);

    expect(job).toMatchObject({ status: 'completed', rows: 1, failedRows: 1 });
    expect(job.errors).toEqual([expect.stringMatching(/tags .*deep/)]);
  });

  it('rejects imported rows with a duplicate key, also within the file', async () => {
    const table = await newTable({ keyColumn: 'name' });
    await client.createTableRows({ table, rows: [{ name: 'cup', price: 1 }] });

    const job = await imported(table, 'name,price\ncup,2\npot,3\npot,4\n');

    expect(job).toMatchObject({
      status: 'completed',
      rows: 1,
      failedRows: 2,
      errors: [
        'Line 2: another row has the same name, which must be unique.',
        'Line 4: another row has the same name, which must be unique.',
      ],
    });
    expect(await client.getTable({ table })).toMatchObject({ rows: 2 });
  });

  it('imports an export again, as new rows', async () => {
    const table = await newTable();
    await client.createTableRows({
      table,
      rows: [{ name: 'a "b"\n,', price: -0.5, sold: false, tags: [1, { a: null }] }],
    });

    const job = await imported(table, await exported(table));

    expect(job).toMatchObject({ status: 'completed', rows: 1, failedRows: 0 });
    expect(job.warnings).toBeUndefined();
    const [row, again] = await valuesOf(table);
    expect(again).toEqual({ ...row, id: 2 });
  });

  it.each([
    ['a file that is no CSV of this table', 'colour\nred\n', /names no column of this table/],
    [
      'a file of an unknown encoding',
      Buffer.concat([Buffer.from('name\n'), Buffer.alloc(50, 0x81)]),
      /send CSV or JSON, saved with the encoding UTF-8/,
    ],
    ['a damaged packed file', gzipSync('name\ncup\n').subarray(0, -9), /damaged or cut off/],
  ])('fails an import with a reason for %s', async (_what, content, reason) => {
    const table = await newTable();

    const job = await imported(table, content);

    expect(job).toMatchObject({ status: 'failed', rows: 0 });
    expect(job.failedStatusReason).toMatch(reason);
  });

  it('answers the same for the import of a file of another bot as of a missing one', async () => {
    const table = await newTable();
    const foreign = await upload('name\ncup\n', 'text/csv', await newBot(alice));

    for (const fileId of [foreign, 'file_unknown']) {
      await expect(client.importTable({ table, fileId })).rejects.toMatchObject({
        type: 'ReferenceNotFound',
        message: `fileId: The file "${fileId}" was not found.`,
      });
    }
  });

  it('refuses to import a file without content', async () => {
    const table = await newTable();
    const { file } = await client.upsertFile({ key: 'later.csv', size: 3 });

    await expect(client.importTable({ table, fileId: file.id })).rejects.toMatchObject({
      type: 'ReferenceNotFound',
      message: expect.stringContaining('no content yet') as string,
    });
  });
});

describe('exportTable', () => {
  it('exports gzipped CSV by default', async () => {
    const table = await newTable();
    await client.createTableRows({ table, rows: [{ name: 'cup, blue', price: 3.5, sold: true, tags: ['a'] }, {}] });

    const { job } = await client.exportTable({ table });
    const { outputFileId, rows } = await ended(table, job.id);

    const text = gunzipSync(await download(outputFileId!)).toString();
    const [header, first, second] = text.split('\n');
    expect(header).toBe('id,name,price,sold,tags,createdAt,updatedAt');
    expect(first).toMatch(/^1,"cup, blue",3\.5,true,"\[""a""\]",\d{4}-[\d-]+T[\d:.]+Z,\d{4}-[\d-]+T[\d:.]+Z$/);
    expect(second).toMatch(/^2,,,,,\d{4}/);
    expect(rows).toBe(2);
    expect((await client.getFile({ id: outputFileId! })).file).toMatchObject({
      key: expect.stringMatching(new RegExp(`^exports/Goods\\d+Table-${job.id}\\.csv\\.gz$`)) as string,
      contentType: 'application/gzip',
      status: 'upload_completed',
    });
  });

  it('exports JSON on request', async () => {
    const table = await newTable();
    await client.createTableRows({ table, rows: [{ name: 'cup' }] });

    const rows = JSON.parse((await exported(table, { format: 'json', compress: false })).toString()) as unknown;

    expect(rows).toEqual([
      {
        id: 1,
        name: 'cup',
        price: null,
        sold: null,
        tags: null,
        createdAt: expect.any(String) as string,
        updatedAt: expect.any(String) as string,
      },
    ]);
  });

  it('exports every row once, over several batches', async () => {
    const table = await newTable();
    for (let from = 0; from < 3_000; from += 1_000) {
      await client.createTableRows({
        table,
        rows: Array.from({ length: 1_000 }, (_row, index) => ({ price: from + index })),
      });
    }

    expect((await valuesOf(table)).map(({ price }) => price)).toEqual(
      Array.from({ length: 3_000 }, (_row, index) => index),
    );
  });

  it('fails an export when the table is emptied before all rows are read', async () => {
    const table = await newTable();
    await filled(table, 2_500);
    await api.sql('BEGIN');
    await api.sql('LOCK TABLE tables.row');
    const { job } = await client.exportTable({ table });
    await waitFor(
      () => api.sql(`SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'tables.row'::regclass`),
      (waiting) => waiting.length > 0,
    );

    await client.deleteTableRows({ table, deleteAllRows: true });
    await api.sql('ROLLBACK');

    expect(await ended(table, job.id)).toMatchObject({
      status: 'failed',
      failedStatusReason: expect.stringContaining('emptied or deleted') as string,
    });
  });

  it('fails an export with the reason of the files service', async () => {
    const table = await newTable({ factor: 30 });
    const name = 'x'.repeat(100_000);
    await client.createTableRows({ table, rows: Array.from({ length: 60 }, () => ({ name })) });

    const { job } = await client.exportTable({ table, compress: false });

    expect(await ended(table, job.id)).toMatchObject({
      status: 'failed',
      failedStatusReason: 'size must be at most 5000000 bytes.',
    });
  });
});

describe('getTableJobs', () => {
  it('lists the jobs of a table, newest first', async () => {
    const table = await newTable();
    const { job: first } = await client.exportTable({ table });
    const { job: second } = await client.exportTable({ table });
    await client.exportTable({ table: await newTable() });

    const { jobs } = await client.getTableJobs({ table });

    expect(jobs.map(({ id }) => id)).toEqual([second.id, first.id]);
  });

  it('keeps the last hundred jobs of a table', async () => {
    const table = await newTable();
    const { job: first } = await client.exportTable({ table });
    await ended(table, first.id);
    await api.sql(
      `INSERT INTO tables.job (id, bot_id, table_id, type, status, task)
       SELECT 'job_' || lpad(number::text, 26, '0'), bot_id, table_id, type, status, task
       FROM tables.job, generate_series(1, 120) AS number WHERE id = $1`,
      [first.id],
    );

    const { job: last } = await client.exportTable({ table });
    await ended(table, last.id);

    const { jobs } = await client.getTableJobs({ table });
    expect(jobs).toHaveLength(100);
    expect(jobs.slice(0, 2).map(({ id }) => id)).toEqual([last.id, first.id]);
    expect(await api.sql('SELECT count(*)::int FROM tables.job WHERE table_id = $1', [table])).toEqual([
      { count: 100 },
    ]);
  });
});

describe('jobs', () => {
  it('returns 404 for jobs of another bot', async () => {
    const table = await newTable();
    const other = await newBot(alice);

    await expect(other.getTableJobs({ table })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(other.exportTable({ table })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(other.importTable({ table, fileId: await upload('name\n') })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
  });

  it('deletes jobs with their table', async () => {
    const table = await newTable();
    await client.exportTable({ table });

    await client.deleteTable({ table });

    await waitFor(
      () => api.sql('SELECT 1 FROM tables.job WHERE table_id = $1', [table]),
      (rows) => rows.length === 0,
    );
  });

  it('runs one job at a time for each bot', async () => {
    const bots = [await newBot(alice), await newBot(alice)];
    const tables = await Promise.all(bots.map((bot) => newTable({}, bot)));
    const statuses = async () =>
      (await Promise.all(bots.map((bot, index) => bot.getTableJobs({ table: tables[index]! })))).map(({ jobs }) =>
        jobs.map(({ status }) => status).sort(),
      );
    for (const [index, bot] of bots.entries())
      await bot.createTableRows({ table: tables[index]!, rows: [{ name: 'cup' }] });
    await api.sql('BEGIN');
    await api.sql('LOCK TABLE tables.row');

    await Promise.all(bots.flatMap((bot, index) => [1, 2, 3].map(() => bot.exportTable({ table: tables[index]! }))));
    await waitFor(
      () => api.sql(`SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'tables.row'::regclass`),
      (waiting) => waiting.length === 2,
    );
    const running = await statuses();
    await api.sql('ROLLBACK');

    expect(running).toEqual(bots.map(() => ['in_progress', 'pending', 'pending']));
    await waitFor(statuses, (all) => all.flat().every((status) => status === 'completed'), 20_000);
  });

  it('refuses jobs to a bot with twenty unfinished ones', async () => {
    const bot = await newBot(alice);
    const table = await newTable({}, bot);
    await api.sql(
      `INSERT INTO tables.job (id, bot_id, table_id, type, task)
       SELECT 'job_' || place, bot_id, id, 'clear_column', '{}'
       FROM tables."table", generate_series(1, 20) AS place WHERE id = $1`,
      [table],
    );

    await expect(bot.exportTable({ table })).rejects.toMatchObject({ type: 'LimitExceeded' });
  });
});

describe('a download of a job', () => {
  it('imports a file whole when garbage is collected before the first read', async () => {
    const table = await newTable();
    const fileId = await upload('name\nKettle\n');
    const jobs = api.apps[3]!.get(JobsRepository, { strict: false });
    const updateTask = jobs.updateTask.bind(jobs);
    const updated = jest.spyOn(jobs, 'updateTask').mockImplementation(async (tx, id, task) => {
      // Unreachable objects are finalized in a later turn of the event loop.
      for (let round = 0; round < 3; round += 1) {
        collectGarbage();
        await new Promise(setImmediate);
      }
      await updateTask(tx, id, task);
    });

    try {
      const { id } = (await client.importTable({ table, fileId })).job;
      expect(await ended(table, id)).toMatchObject({ status: 'completed' });
    } finally {
      updated.mockRestore();
    }

    expect((await client.findTableRows({ table })).rows).toMatchObject([{ name: 'Kettle' }]);
  });

  it('aborts the download of a job by its signal without an unhandled rejection', async () => {
    const table = await newTable();
    const fileId = await upload(`name\n${'x'.repeat(4_000_000)}\n`);
    const { id } = (await client.importTable({ table, fileId })).job;
    await ended(table, id);
    const [job] = await api.sql<{ caller: JobCaller }>(
      `SELECT task -> 'caller' AS caller FROM tables.job WHERE id = $1`,
      [id],
    );
    const stopping = new AbortController();
    const { response } = await api.apps[3]!.get(BotFilesClient).open(job!.caller, fileId, stopping.signal);
    const content = response.body!;

    stopping.abort();
    await waitFor(() => isErrored(content));
    // An unhandled rejection would end the process in this turn of the event loop.
    await new Promise(setImmediate);

    await expect(text(content)).rejects.toMatchObject({ name: 'AbortError' });
  });
});

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

async function started(tableId: string, task: JobTask): Promise<Job> {
  const tables = api.apps[3]!;
  const [table] = await api.sql<{ bot_id: string }>('SELECT bot_id FROM tables."table" WHERE id = $1', [tableId]);
  const { id } = await tables
    .get(Database, { strict: false })
    .transaction((tx) => tables.get(JobsRepository).queueJob(tx, { botId: table!.bot_id, tableId, task }));
  return ended(tableId, id);
}

async function numberOf(table: string): Promise<string> {
  const [row] = await api.sql<{ number: string }>('SELECT number FROM tables."table" WHERE id = $1', [table]);
  return row!.number;
}

async function keyOf(table: string, index: number): Promise<string> {
  return `${Number(await numberOf(table)).toString(36)}.${index}`;
}

async function filled(table: string, rows: number): Promise<void> {
  const names = Array.from({ length: rows }, (_row, index) => ({ name: `n${index}`, price: index, sold: true }));
  for (let from = 0; from < rows; from += 1_000) {
    await client.createTableRows({ table, rows: names.slice(from, from + 1_000) });
  }
}

describe('a duplicate_table job', () => {
  it('duplicates each row once, in order, with the values of the mapped columns', async () => {
    const [source, copy] = [await newTable(), await newTable()];
    await filled(source, 2_500);
    const keys = {
      [await keyOf(source, 0)]: await keyOf(copy, 0),
      [await keyOf(source, 1)]: await keyOf(copy, 1),
    };

    const job = await started(copy, {
      type: 'duplicate_table',
      sourceNumber: await numberOf(source),
      lastRowId: 2_400,
      keys,
    });

    expect(job).toMatchObject({ status: 'completed', rows: 2_400, failedRows: 0 });
    const expected = Array.from({ length: 2_400 }, (_row, index) => ({
      id: index + 1,
      name: `n${index}`,
      price: index,
      sold: null,
      tags: null,
    }));
    expect(await valuesOf(copy)).toEqual(expected);
    expect(await client.getTable({ table: copy })).toMatchObject({ rows: 2_400, stale: 0, indexing: 0 });
  });

  it('skips duplicated rows whose key is taken, and counts the rows correctly', async () => {
    const [source, copy] = [await newTable(), await newTable({ keyColumn: 'name' })];
    await filled(source, 3);
    await client.createTableRows({ table: copy, rows: [{ name: 'n1' }] });

    const job = await started(copy, {
      type: 'duplicate_table',
      sourceNumber: await numberOf(source),
      lastRowId: 3,
      keys: { [await keyOf(source, 0)]: await keyOf(copy, 0) },
    });

    expect(job).toMatchObject({ status: 'completed', rows: 2, failedRows: 1 });
    expect((await valuesOf(copy)).map(({ name }) => name)).toEqual(['n1', 'n0', 'n2']);
    expect(await client.getTable({ table: copy })).toMatchObject({ rows: 3 });
  });

  it('fails a duplication when the source table is deleted', async () => {
    const [source, copy] = [await newTable(), await newTable()];
    await filled(source, 1);
    const task = { type: 'duplicate_table', sourceNumber: await numberOf(source), lastRowId: 1, keys: {} } as const;
    await client.deleteTable({ table: source });

    const job = await started(copy, task);

    expect(job.status).toBe('failed');
    expect(job.failedStatusReason).toMatch(/emptied or deleted/);
  });
});

describe('a clear_column job', () => {
  it('clears the values of deleted columns by a job and keeps the others', async () => {
    const table = await newTable();
    await filled(table, 2_500);
    const [name, price] = [await keyOf(table, 0), await keyOf(table, 1)];
    const number = await numberOf(table);
    await api.sql(
      `UPDATE tables.row SET stale = ARRAY[$2, $3], computed = jsonb_build_object($2::text, '{}'::jsonb, $3::text, '{}'::jsonb)
       WHERE table_number = $1 AND id IN (1, 2400)`,
      [number, name, price],
    );

    const effect = { emptied: [price, 'none'], stale: [], uncomputed: [] };
    const job = await started(table, { type: 'clear_column', tableNumber: number, lastRowId: 2_500, effect });

    expect(job).toMatchObject({ status: 'completed', progress: 100, rows: 2_500 });
    const rows = await api.sql(
      `SELECT count(*)::int AS rows, count(*) FILTER (WHERE data ? $2)::int AS prices,
         count(*) FILTER (WHERE data ? $3)::int AS names, array_agg(DISTINCT stale) FILTER (WHERE stale IS NOT NULL) AS stale,
         array_agg(DISTINCT computed) FILTER (WHERE computed IS NOT NULL) AS computed
       FROM tables.row WHERE table_number = $1`,
      [number, price, name],
    );
    expect(rows).toEqual([{ rows: 2_500, prices: 0, names: 2_500, stale: [[name]], computed: [{ [name]: {} }] }]);
  });

  it('skips effects of a clear_column job that no longer apply when the table has changed again', async () => {
    const table = await newTable();
    await filled(table, 10);
    const [number, name] = [await numberOf(table), await keyOf(table, 0)];

    const effect = { emptied: [], stale: [name], uncomputed: [], unindexed: true };
    const job = await started(table, { type: 'clear_column', tableNumber: number, lastRowId: 10, effect });

    expect(job).toMatchObject({ status: 'completed', rows: 0 });
    expect(await client.getTable({ table })).toMatchObject({ stale: 0, indexing: 0 });
  });
});

describe('two processes', () => {
  it('stores each row of a job once when one process takes the job over from another', async () => {
    const [source, copy] = [await newTable(), await newTable()];
    await filled(source, 1_000);
    const [number, name] = [await numberOf(source), await keyOf(source, 0)];
    await api.sql(
      `INSERT INTO tables.row (table_number, id, data)
       SELECT $1, i, jsonb_build_object($2::text, 'n' || (i - 1)) FROM generate_series(1001, 30000) AS i`,
      [number, name],
    );
    await api.sql('UPDATE tables.table_state SET next_row_id = 30001 WHERE number = $1', [number]);
    const task = {
      type: 'duplicate_table',
      sourceNumber: number,
      lastRowId: 30_000,
      keys: { [name]: await keyOf(copy, 0) },
    } as const;
    const config = Object.assign(new TablesConfig(), api.settings);
    const other = await joinService(api, 'other', (platform) => TablesModule.register(config, platform));
    // Every batch except the first waits before its commit.
    await api.sql(`
      CREATE FUNCTION tables.hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF EXISTS (SELECT 1 FROM tables.job WHERE table_id = '${copy}' AND position > 0) THEN
          PERFORM pg_advisory_xact_lock_shared(1);
        END IF;
        RETURN NULL; END $$;
      CREATE TRIGGER hold AFTER INSERT ON tables.row FOR EACH STATEMENT EXECUTE FUNCTION tables.hold();
      SELECT pg_advisory_lock(1)`);

    const copying = started(copy, task);
    const first = await waitFor(
      () => holderOf(copy),
      (holder) => (holder?.position ?? 0) > 0,
    );
    let second: typeof first;
    await waitFor(
      async () => {
        await api.sql(
          `UPDATE tables.work SET due_at = now() FROM tables.job
         WHERE key = job.id AND table_id = $1 AND state = 'running' AND worker = $2`,
          [copy, first!.worker],
        );
        second = await holderOf(copy);
        return second !== undefined && second.worker !== first!.worker;
      },
      undefined,
      60_000,
    );
    await api.sql('SELECT pg_advisory_unlock(1)');
    const job = await copying;
    await other.stop();
    await api.sql('DROP FUNCTION tables.hold CASCADE');

    expect([first?.worker, second?.worker].sort()).toEqual(['other', 'test']);
    expect(job).toMatchObject({ status: 'completed', rows: 30_000, failedRows: 0 });
    const rows = await api.sql<{ id: number; name: string }>(
      'SELECT id, data ->> $2 AS name FROM tables.row WHERE table_number = $1 ORDER BY id',
      [await numberOf(copy), await keyOf(copy, 0)],
    );
    expect(rows).toEqual(Array.from({ length: 30_000 }, (_row, index) => ({ id: index + 1, name: `n${index}` })));
  });

  async function holderOf(table: string): Promise<{ worker: string; position: number } | undefined> {
    const [job] = await api.sql<{ worker: string; position: number }>(
      `SELECT worker, job.position::int FROM tables.job JOIN tables.work ON key = job.id
       WHERE table_id = $1 AND work.state = 'running'`,
      [table],
    );
    return job;
  }
});
