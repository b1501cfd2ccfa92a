import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { FilesModule } from '../../../files/src/files.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { TablesModule } from '../../../tables/src/tables.module';
import { waitFor } from '@parley/testing/wait-for';
import { runCommand } from '../program';

let later: EmbeddingServer;
let blobsDir: string;
let api: PublicApi | undefined;
const environment = { ...process.env };

beforeEach(async () => {
  later = await EmbeddingServer.start();
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-cli-'));
});

afterEach(async () => {
  process.env = { ...environment };
  await api?.stop();
  api = undefined;
  await later.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

/** Settings of a service that indexes. */
const indexing = () => ({
  sweepIntervalMs: 5_000,
  vectorCacheMb: 1,
  embeddingsUrl: later.url,
  embeddingsModel: 'in use',
  embeddingsTimeoutMs: 5_000,
});

type App = Parameters<typeof startPublicApi>[1];

const tablesApp: App = {
  register: (settings, platform) =>
    TablesModule.register({ ...settings, ...indexing(), findTimeoutMs: 5_000 }, platform),
};

/** Starts the platform with these apps and points the commands at it. */
async function route(...apps: App[]): Promise<PublicApi> {
  const opened = await startPublicApi(GatewayModule, AdminModule, ...apps);
  process.env['PARLEY_URL'] = opened.url;
  process.env['PARLEY_SECRET_KEY'] = opened.settings.secretKey;
  return opened;
}

/** Starts the platform with this next model and a file of 300 passages that the current model has indexed. */
async function start(
  next: { nextEmbeddingsUrl?: string; nextEmbeddingsModel?: string },
  ...others: App[]
): Promise<void> {
  const content = {
    blobsDir,
    contentUrl: 'http://content.parley.test',
    s3Region: 'us-east-1',
    maxUploadBytes: 5_000_000,
  };
  api = await route(
    {
      register: (settings, platform) =>
        FilesModule.register(
          { ...settings, ...indexing(), ...content, nextEmbeddingsModel: 'none', ...next },
          platform,
        ),
    },
    ...others,
  );
  await api.sql(
    `INSERT INTO files.file (id, bot_id, key, content_type, declared_size, tags, metadata, access_policies, index, indexing,
       immediately_public, status, upload_id, upload_expires_at, content_version, active_version)
     VALUES ('file_a', 'bot', 'a.txt', 'text/plain', 1, '{}', '{}', '{}', true, '{}', false, 'indexing_completed', 'u', now(),
       'v1', 'v1')`,
  );
  await api.sql(
    `INSERT INTO files.passage (file_id, content_version, bot_id, position, id, content, subtype, breadcrumb)
     SELECT 'file_a', 'v1', 'bot', n, gen_random_uuid(), 'passage ' || n, 'paragraph', '{}' FROM generate_series(0, 299) AS n`,
  );
}

async function run(...line: string[]) {
  let output = '';
  const status = await runCommand(line, (text) => (output += text));
  return { status, output };
}

it('shows the progress of a re-index until it is complete, then the next step', async () => {
  await start({ nextEmbeddingsUrl: later.url, nextEmbeddingsModel: 'later' });
  later.order('passage 40', { status: 503, message: 'wait', headers: { 'retry-after': '0' } }, 'well');

  const { status, output } = await run('reindex');

  expect(status).toBe(0);
  expect(output.split('\n')).toEqual([
    'later: 0 of 1 files. The embedding server answered 503: wait',
    'later: 0 of 1 files',
    'later: 1 of 1 files',
    '',
    expect.stringMatching(/^The next embedding model, later, is complete\. Set EMBEDDINGS_URL/),
    expect.stringContaining('npm run parley -- reindex --drop-old'),
    '',
  ]);
  expect(await run('reindex', '--drop-old')).toEqual({ status: 0, output: 'No former models to drop.\n' });
});

it('shows how many files and tables wait for the words of this version, until none does', async () => {
  await start({}, tablesApp);
  expect(await run('reindex', '--words')).toEqual({
    status: 0,
    output: '0 files and 0 tables left\n\nFiles and rows are found by the words of this version.\n',
  });
  await api!.sql(
    "INSERT INTO files.indexed_content (file_id, model, content_version) VALUES ('file_a', 'in use', 'v1')",
  );

  const { status, output } = await run('reindex', '--words');

  expect(status).toBe(0);
  expect(output.split('\n').at(0)).toBe('1 files and 0 tables left');
  expect(await api!.sql('SELECT lexicon FROM files.indexed_content')).toEqual([{ lexicon: 2 }]);
});

it('lists files that an older reader has read or refused, and reads them anew until none is left', async () => {
  await start({});
  await api!.sql("UPDATE files.file SET blob_version = 'v1', size = 1");
  await api!.sql(
    `INSERT INTO files.file SELECT (jsonb_populate_record(file, jsonb_build_object('id', 'file_b', 'key', 'b.pdf',
       'content_type', 'application/pdf', 'status', 'indexing_failed', 'failed_status_reason', 'No.', 'active_version', null))).*
     FROM files.file`,
  );
  const listed = await run('reindex', '--older-readers', '--list');
  const ofOther = await run('reindex', '--older-readers', '--format', 'docx', '--bot', randomUUID());
  const reading = run('reindex', '--older-readers');
  await waitFor(
    () => api!.sql("SELECT 1 FROM files.file WHERE status = 'indexing_pending'"),
    ({ length }) => length === 2,
  );
  await api!.sql("UPDATE files.file SET status = 'indexing_completed', reader_format = 'PDF', reader_version = 1000");

  const { status, output } = await reading;

  const lines = '      1  plain text\n      1  PDF, refused: No.\n';
  expect(listed).toEqual({ status: 0, output: `${lines}They are read anew without --list.\n` });
  expect(ofOther.output).toBe(
    '0 read and 0 refused files left, 0 being read\n\nNo file was read or refused by an older reader.\n',
  );
  expect(status).toBe(0);
  expect(output.startsWith(`${lines}1 read and 1 refused files left, 0 being read\n`)).toBe(true);
  expect(output).toMatch(/0 being read\n\nNo file was read or refused by an older reader\.\n$/);
  expect(await run('reindex', '--format', 'PDF')).toEqual({
    status: 2,
    output: expect.stringContaining('error: --list, --format and --bot belong to --older-readers\n'),
  });
  expect(await run('reindex', '--older-readers', '--format', 'papyrus')).toEqual({
    status: 1,
    output: expect.stringContaining('"papyrus" is no format'),
  });
});

it('drops the vectors of former models', async () => {
  await start({});
  await api!.sql("INSERT INTO files.index_model (model, dimensions) VALUES ('former', 3)");

  expect(await run('reindex', '--drop-old')).toEqual({ status: 0, output: 'Dropped: former.\n' });
  expect(await api!.sql("SELECT 1 FROM files.index_model WHERE model = 'former'")).toEqual([]);
});

it('queues the rows of tables of one bot or of all bots', async () => {
  api = await route(tablesApp);
  const { client, token, workspaceId } = await api.newAccount();
  const { bot } = await client.createBot({});
  const owner = api.client(token, workspaceId, bot.id);
  const properties = { text: { type: 'string', 'x-zui': { searchable: true } } };
  await owner.createTable({ name: 'NotesTable', schema: { type: 'object', properties } });

  const [all, one, none, noBot] = [
    await run('reindex', '--tables'),
    await run('reindex', '--tables', bot.id),
    await run('reindex', '--tables', randomUUID()),
    await run('reindex', '--tables', 'mine'),
  ];

  expect(all).toEqual({
    status: 0,
    output: expect.stringContaining('Queued 0 rows of 1 searchable tables for indexing.'),
  });
  expect(one).toEqual(all);
  expect(none).toEqual({ status: 0, output: expect.stringContaining('of 0 searchable tables') });
  expect(noBot).toEqual({ status: 1, output: expect.stringContaining('botId') });
});

it('fails without a next model and names the variable', async () => {
  await start({});

  expect(await run('reindex')).toEqual({
    status: 1,
    output: 'No next embedding model is configured: set NEXT_EMBEDDINGS_URL and restart Parley.\n',
  });
});
