import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expectGenerated } from '@parley/testing/generated-text';
import { type AdminSettings, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import type { Platform } from '@parley/service/platform';
import { AdminModule } from '../../admin/src/admin.module';
import { FilesModule } from '../../files/src/files.module';
import { GatewayModule } from '../../gateway/src/gateway.module';
import { createProgram, runCommand } from './program';
import { referencePage } from './reference-page';
import { dataFolder } from './kept-file';

/** A server at PARLEY_URL that is not Parley. */
let foreignServer: Server;
const environment = { ...process.env };

beforeAll(async () => {
  foreignServer = createServer((_request, response) => response.writeHead(502).end('<html>Bad gateway</html>'));
  foreignServer.listen(0, '127.0.0.1');
  await once(foreignServer, 'listening');
});

beforeEach(() => {
  process.env['PARLEY_URL'] = `http://127.0.0.1:${(foreignServer.address() as AddressInfo).port}`;
  process.env['PARLEY_SECRET_KEY'] = 's'.repeat(32);
});

afterEach(() => {
  process.env = { ...environment };
});

afterAll(() => foreignServer.close());

async function run(...line: string[]) {
  let output = '';
  let errors = '';
  const status = await runCommand(
    line,
    (text) => (output += text),
    (text) => (errors += text),
  );
  return { status, output, errors };
}

it('matches docs/cli.md (UPDATE_DOCS=1 npm test -- cli writes it)', () => {
  expectGenerated('docs/cli.md', referencePage(createProgram({ out: () => {}, err: () => {} })));
});

describe('a command', () => {
  it.each([
    [[], 2, 'errors'],
    [['--help'], 0, 'output'],
  ] as const)('prints all commands for the command line %j', async (line, status, stream) => {
    const answer = await run(...line);

    expect(answer.status).toBe(status);
    expect(answer[stream]).toMatch(/^Usage: parley [\s\S]*account [\s\S]*reindex [\s\S]*streams [\s\S]*complete /);
  });

  it.each([
    [['files', 'retry', '--help'], /^Usage: parley files retry \[options\] \[file ids\.\.\.\]\n[\s\S]*--all-failed/],
    [['help', 'dead-letters'], /^Usage: parley dead-letters [\s\S]*list [\s\S]*replay /],
  ])('prints the help of a command (%j)', async (line, help) => {
    expect(await run(...line)).toEqual({ status: 0, output: expect.stringMatching(help), errors: '' });
  });

  it.each([
    [['nonsense'], "error: unknown command 'nonsense'"],
    [['acount', 'create'], "error: unknown command 'acount'\n(Did you mean account?)"],
    [['account', 'crate'], "error: unknown command 'crate'\n(Did you mean create?)"],
    [['account', 'create'], "error: missing required argument 'email'"],
    [['bot', 'leftovers'], "error: missing required argument 'bot id'"],
    [
      ['files', 'stuck', 'soon'],
      "error: command-argument value 'soon' is invalid for argument 'minutes'. It must be a whole number.",
    ],
    [['files', 'retry'], 'error: give file ids, or --bot <bot id>, or --all-failed'],
    [['files', 'retry', '--bot'], "error: option '--bot <bot id>' argument missing"],
    [['files', 'retry', '--all'], "error: unknown option '--all'"],
    [['files', 'retry', '--all-faild'], "error: unknown option '--all-faild'\n(Did you mean --all-failed?)"],
    [['files', 'retry', '--all-failed', 'file_1'], 'error: give file ids, or --bot <bot id>, or --all-failed'],
    [
      ['files', 'retry', '--all-failed', '--bot', 'b'],
      "error: option '--bot <bot id>' cannot be used with option '--all-failed'",
    ],
    [['deliveries', 'replay', 'b'], 'error: give an event id, or --all-failed, or --all-ignored'],
    [
      ['deliveries', 'replay', 'b', 'evt_1', '--all-failed'],
      'error: give an event id, or --all-failed, or --all-ignored',
    ],
    [
      ['deliveries', 'replay', 'b', '--all-failed', '--all-ignored'],
      "error: option '--all-failed' cannot be used with option '--all-ignored'",
    ],
    [
      ['deliveries', 'list', 'b', '--status', 'lost'],
      "error: option '--status <status>' argument 'lost' is invalid. Allowed choices are pending, parked, processed, failed, ignored.",
    ],
    [['reindex', '--now'], "error: unknown option '--now'"],
    [['reindex', 'mine'], "error: too many arguments for 'reindex'. Expected 0 arguments but got 1: mine."],
    [
      ['reindex', '--drop-old', '--tables'],
      "error: option '--drop-old' cannot be used with option '--tables [bot id]'",
    ],
    [['nats', 'keys', 'extra'], "error: too many arguments for 'keys'. Expected 0 arguments but got 1: extra."],
    [
      ['dead-letters', 'list', 'mail'],
      "error: command-argument value 'mail' is invalid for argument 'service'. Allowed choices are admin, chat, files, hub, models, runtime, tables.",
    ],
  ])('explains wrong arguments (%j), with what would be right', async (line, message) => {
    const { status, output, errors } = await run(...line);

    expect({ status, output }).toEqual({ status: 2, output: '' });
    expect(errors).toBe(
      `${message}\nAdd --help for the arguments and options, as in: npm run parley -- files retry --help\n`,
    );
  });

  it.each([
    [
      ['dead-letters', 'list', ''],
      ['admin', 'chat', 'files', 'hub', 'models', 'runtime', 'tables'],
    ],
    [
      ['files', ''],
      ['stuck', 'failed', 'retry', 'help'],
    ],
    [['fi'], ['files']],
    [['reindex', '--d'], ['--drop-old']],
  ])('completes the command line %j', async (line, words) => {
    const print = jest.spyOn(console, 'log').mockImplementation();
    await run('complete', '--', ...line);
    const completed = print.mock.calls.map(([text]) => String(text).split('\t')[0]);
    print.mockRestore();

    expect(completed).toEqual([...words, expect.stringMatching(/^:\d+$/)]);
  });

  it.each([
    [['files', 'failed', 'nope'], 'Bot "nope" not found: a bot id is a UUID.'],
    [['files', 'retry', '--bot', 'nope'], 'Bot "nope" not found: a bot id is a UUID.'],
    [['deliveries', 'list', 'nope'], 'Bot "nope" not found: a bot id is a UUID.'],
    [['restore', '/nowhere/at-all.tgz'], 'File /nowhere/at-all.tgz not found.'],
  ])('fails for a command that names something missing (%j)', async (line, sentence) => {
    expect(await run(...line)).toEqual({ status: 1, output: '', errors: `${sentence}\n` });
  });

  it('says that the server at PARLEY_URL is not Parley', async () => {
    expect(await run('account', 'create', 'ann@example.com')).toEqual({
      status: 1,
      output: '',
      errors: `The server at ${process.env['PARLEY_URL']} is not Parley (HTTP status 502): set PARLEY_URL to the address of the gateway.\n`,
    });
  });

  it('says that no server answers', async () => {
    process.env['PARLEY_URL'] = 'http://127.0.0.1:1';

    expect(await run('bot', 'leftovers', 'b')).toEqual({
      status: 1,
      output: '',
      errors: 'No answer from http://127.0.0.1:1: start Parley first (npm start), or set PARLEY_URL to its address.\n',
    });
  });

  it.each([
    ['there is nothing', '/nowhere', 'No credentials.json in /nowhere: start Parley once'],
    ['there is no folder', '/dev/null', 'Cannot read credentials.json in /dev/null: ENOTDIR'],
  ])('says what is missing where %s', async (_what, folder, message) => {
    delete process.env['PARLEY_URL'];
    process.env['PARLEY_DATA_DIR'] = folder;

    expect(await run('bot', 'leftovers', 'b')).toEqual({
      status: 1,
      output: '',
      errors: expect.stringContaining(message),
    });
  });

  it('treats an empty variable as absent', async () => {
    Object.assign(process.env, { PARLEY_URL: '', PARLEY_DATA_DIR: '/nowhere' });
    const { errors } = await run('bot', 'leftovers', 'b');
    process.env['PARLEY_DATA_DIR'] = '';

    expect(errors).toContain('No credentials.json in /nowhere');
    expect(dataFolder()).toBe('.parley');
  });
});

describe('the commands about files', () => {
  let api: PublicApi;
  let blobsDir: string;

  beforeAll(async () => {
    blobsDir = await mkdtemp(join(tmpdir(), 'parley-cli-'));
    const files = {
      register: (settings: AdminSettings, platform: Platform) =>
        FilesModule.register(
          {
            ...settings,
            blobsDir,
            contentUrl: 'http://content.parley.test',
            s3Region: 'us-east-1',
            maxUploadBytes: 5_000_000,
            sweepIntervalMs: 5_000,
            vectorCacheMb: 1,
            embeddingsModel: '',
            nextEmbeddingsModel: '',
            embeddingsTimeoutMs: 1_000,
          },
          platform,
        ),
    };
    api = await startPublicApi(GatewayModule, AdminModule, files);
  });
  afterAll(async () => {
    await api?.stop();
    await rm(blobsDir, { recursive: true, force: true });
  });
  beforeEach(() => {
    process.env['PARLEY_URL'] = api.url;
    process.env['PARLEY_SECRET_KEY'] = api.settings.secretKey;
  });

  /** Adds rows of files of one bot as if they had been uploaded. */
  async function addFiles(botId: string, status: 'indexing_failed' | 'indexing_pending', count: number) {
    await api.sql(
      `INSERT INTO files.file (id, bot_id, key, content_type, declared_size, size, tags, metadata, access_policies, index,
         indexing, immediately_public, status, failed_status_reason, upload_id, upload_expires_at, blob_version, content_version)
       SELECT $1 || '_' || n, $1, 'key ' || n, 'text/plain', 1, 1, '{}', '{}', '{}', true, '{}', false, $2::text, 'why ' || n,
         'upload', now(), 'v1', 'v1' FROM generate_series(1, $3::int) AS n`,
      [botId, status, count],
    );
    await api.sql(
      `INSERT INTO files.indexing_job (file_id, content_version, bot_id, attempts, last_error)
       SELECT id, 'v1', bot_id, 2, 'busy' FROM files.file WHERE bot_id = $1 AND status = 'indexing_pending'`,
      [botId],
    );
  }
  const statuses = async (botId: string) =>
    (await api.sql<{ status: string }>('SELECT DISTINCT status FROM files.file WHERE bot_id = $1', [botId])).map(
      ({ status }) => status,
    );
  async function answer(...line: string[]) {
    const { status, output, errors } = await run(...line);
    expect({ status, errors }).toEqual({ status: 0, errors: '' });
    return JSON.parse(output) as never;
  }

  it('lists all pages of stuck and failed files, and those of one bot', async () => {
    const oneBot = randomUUID();
    await addFiles('waiting', 'indexing_pending', 250);
    await addFiles('failed-a', 'indexing_failed', 201);
    await addFiles(oneBot, 'indexing_failed', 1);

    const stuck: { botId: string; lastError: string }[] = await answer('files', 'stuck', '1000');
    const failed: { botId: string }[] = await answer('files', 'failed');
    const ofOne: unknown[] = await answer('files', 'failed', oneBot);

    expect(stuck.filter(({ botId, lastError }) => botId === 'waiting' && lastError === 'busy')).toHaveLength(250);
    expect(failed.filter(({ botId }) => botId === 'failed-a' || botId === oneBot)).toHaveLength(202);
    expect(ofOne).toEqual([
      { fileId: `${oneBot}_1`, key: 'key 1', botId: oneBot, reason: 'why 1', failedAt: expect.any(String) },
    ]);
  });

  it('retries files by id, by bot, and all that failed', async () => {
    const oneBot = randomUUID();
    await addFiles('retry-a', 'indexing_failed', 2);
    await addFiles(oneBot, 'indexing_failed', 3);
    await addFiles('retry-c', 'indexing_failed', 401);

    const inPart = await run('files', 'retry', 'retry-a_1', 'retry-a_1', 'nothing');
    expect({ ...inPart, output: JSON.parse(inPart.output) as unknown }).toEqual({
      status: 1,
      output: { retried: ['retry-a_1'], refused: [{ fileId: 'nothing', reason: 'File not found.' }] },
      errors: 'Refused: 1 files.\n',
    });
    const ofBot: { retried: string[] } = await answer('files', 'retry', '--bot', oneBot);
    expect(ofBot.retried.toSorted()).toEqual([1, 2, 3].map((n) => `${oneBot}_${n}`));
    expect(await statuses('retry-a')).toEqual(expect.arrayContaining(['indexing_failed', 'indexing_pending']));
    const all: { retried: string[] } = await answer('files', 'retry', '--all-failed');

    expect(all.retried.filter((id) => id.startsWith('retry-'))).toHaveLength(402);
    expect(await answer('files', 'failed')).toEqual([]);
    expect(await answer('files', 'retry', '--all-failed')).toEqual({ retried: [], refused: [] });
  });

  it('lists the newest dead letters and says when there are more', async () => {
    const add = (first: number, last: number) =>
      api.sql(
        `INSERT INTO files.dead_letter (id, consumer, event_id, subject, data, attempts, reason)
         SELECT 'dead_' || lpad(n::text, 4, '0'), 'files.probe', n::text, 'files.probed', '{}', 1, 'why'
         FROM generate_series($1::int, $2::int) AS n`,
        [first, last],
      );
    await add(1, 100);
    const all: unknown[] = await answer('dead-letters', 'list', 'files');
    await add(101, 101);

    const { output, errors } = await run('dead-letters', 'list', 'files');

    expect(all).toHaveLength(100);
    const newest = JSON.parse(output) as { id: string }[];
    expect(errors).toBe('Only the newest 100 dead letters are shown.\n');
    expect([newest.length, newest[0]!.id, newest[99]!.id]).toEqual([100, 'dead_0101', 'dead_0002']);
  });

  it('reconciles storage and lists the bots whose counts were wrong', async () => {
    await addFiles('wrong', 'indexing_failed', 3);
    await api.sql(`UPDATE files.storage_use SET file_bytes = 9 WHERE bot_id = 'wrong'`);

    expect(await answer('storage', 'reconcile')).toEqual({
      checked: expect.any(Number),
      corrected: [
        { botId: 'wrong', before: { fileBytes: 9, vectorBytes: 3 }, after: { fileBytes: 3, vectorBytes: 3 } },
      ],
    });
    expect(await answer('storage', 'reconcile')).toMatchObject({ corrected: [] });
  });
});
