import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdminSettings, type FrontDoor, startFrontDoor } from '@parley/testing/front-door';
import type { Platform } from '@parley/service/platform';
import { AdminModule } from '../../admin/src/admin.module';
import { FilesModule } from '../../files/src/files.module';
import { GatewayModule } from '../../gateway/src/gateway.module';
import { runCommand } from './commands';
import { dataFolder } from './kept-file';

/** Something at PARLEY_URL that is not Parley. */
let stranger: Server;
const environment = { ...process.env };

beforeAll(async () => {
  stranger = createServer((_request, response) => response.writeHead(502).end('<html>Bad gateway</html>'));
  stranger.listen(0, '127.0.0.1');
  await once(stranger, 'listening');
});

beforeEach(() => {
  process.env['PARLEY_URL'] = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
  process.env['PARLEY_SECRET_KEY'] = 's'.repeat(32);
});

afterEach(() => {
  process.env = { ...environment };
});

afterAll(() => stranger.close());

async function run(...line: string[]) {
  let output = '';
  const status = await runCommand(line, (text) => (output += text));
  return { status, output };
}

describe('a command', () => {
  it.each([
    [[], 2],
    [['--help'], 0],
  ])('line of %j shows all commands', async (line, status) => {
    expect(await run(...line)).toEqual({
      status,
      output: expect.stringMatching(/^Usage: [\s\S]*account create <email>[\s\S]*nats keys/),
    });
  });

  it.each([
    [['bogus'], 'There is no command "bogus".', /account create [\s\S]*nats keys/],
    [['account'], '"account" lacks what to do.', /^ {2}account create <email> .*$/],
    [['account', 'destroy'], 'There is no command "account destroy".', /^ {2}account create <email> .*$/],
    [['account', 'create'], 'Give an email address.', /^ {2}account create <email> .*$/],
    [['bot', 'leftovers'], 'Give the id of a bot.', /^ {2}bot leftovers/],
    [['files', 'stuck', 'soon'], 'Give minutes as a whole number.', /^ {2}files stuck/],
    [['files', 'retry'], 'Give ids of files, --bot <bot id> or --all-failed.', /^ {2}files retry/],
    [['files', 'retry', '--bot'], "Option '--bot <value>' argument missing.", /^ {2}files retry/],
    [['files', 'retry', '--all'], "Unknown option '--all'.", /^ {2}files retry/],
    [
      ['files', 'retry', '--all-failed', 'file_1'],
      'Give ids of files, --bot <bot id> or --all-failed.',
      /^ {2}files retry/,
    ],
    [['reindex', '--now'], "Unknown option '--now'.", /^ {2}reindex/],
    [['reindex', 'mine'], 'Give --drop-old, --tables, --tables <bot id> or nothing.', /^ {2}reindex/],
    [['token', 'create', 'ann@example.com', '--x'], "Unknown option '--x'.", /^ {2}token create/],
    [['nats', 'keys', 'extra'], '"extra" is one word too many.', /^ {2}nats keys/],
    [
      ['dead-letters', 'list', 'mail'],
      'Name the service, one of: admin, chat, files, hub, tables.',
      /^ {2}dead-letters list/,
    ],
  ])('that is misused (%j) says what is wrong, and what would be right', async (line, sentence, usage) => {
    const { status, output } = await run(...line);

    const [said, rest] = output.split('\n\nUsage: npm run parley -- <command>\n\n');
    expect({ status, said }).toEqual({ status: 2, said: sentence });
    expect(rest?.trimEnd()).toMatch(usage);
  });

  it.each([
    [['files', 'failed', 'nope'], 'ResourceNotFound: There is no bot "nope" here.'],
    [['files', 'retry', '--bot', 'nope'], 'ResourceNotFound: There is no bot "nope" here.'],
    [['restore', '/nowhere/at-all.tgz'], 'There is no file /nowhere/at-all.tgz.'],
  ])('about what is not there (%j) fails', async (line, sentence) => {
    expect(await run(...line)).toEqual({ status: 1, output: `${sentence}\n` });
  });

  it('says that what answers is no Parley', async () => {
    expect(await run('account', 'create', 'ann@example.com')).toEqual({
      status: 1,
      output: `What answers at ${process.env['PARLEY_URL']} is not Parley (502): set PARLEY_URL to its address.\n`,
    });
  });

  it('says that nothing answers', async () => {
    process.env['PARLEY_URL'] = 'http://127.0.0.1:1';

    expect(await run('bot', 'leftovers', 'b')).toEqual({
      status: 1,
      output: 'Nothing answers at http://127.0.0.1:1: start Parley first (npm start).\n',
    });
  });

  it.each([
    ['there is nothing', '/nowhere', 'There is no credentials.json in /nowhere: start Parley here once'],
    ['there is no folder', '/dev/null', 'credentials.json in /dev/null cannot be read: ENOTDIR'],
  ])('says what it misses where %s', async (_what, folder, message) => {
    delete process.env['PARLEY_URL'];
    process.env['PARLEY_DATA_DIR'] = folder;

    expect(await run('bot', 'leftovers', 'b')).toEqual({ status: 1, output: expect.stringContaining(message) });
  });

  it('takes an empty variable for one that is absent', async () => {
    Object.assign(process.env, { PARLEY_URL: '', PARLEY_DATA_DIR: '/nowhere' });
    const { output } = await run('bot', 'leftovers', 'b');
    process.env['PARLEY_DATA_DIR'] = '';

    expect(output).toContain('There is no credentials.json in /nowhere');
    expect(dataFolder()).toBe('.parley');
  });
});

describe('the commands about files', () => {
  let door: FrontDoor;
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
            completionsTimeoutMs: 1_000,
          },
          platform,
        ),
    };
    door = await startFrontDoor(GatewayModule, AdminModule, files);
  });
  afterAll(async () => {
    await door?.stop();
    await rm(blobsDir, { recursive: true, force: true });
  });
  beforeEach(() => {
    process.env['PARLEY_URL'] = door.url;
    process.env['PARLEY_SECRET_KEY'] = door.settings.secretKey;
  });

  /** As many files of one bot that failed or wait, as if they had been uploaded. */
  async function addFiles(botId: string, status: 'indexing_failed' | 'indexing_pending', count: number) {
    await door.sql(
      `INSERT INTO files.file (id, bot_id, key, content_type, declared_size, size, tags, metadata, access_policies, index,
         indexing, immediately_public, status, failed_status_reason, upload_id, upload_expires_at, blob_version, content_version)
       SELECT $1 || '_' || n, $1, 'key ' || n, 'text/plain', 1, 1, '{}', '{}', '{}', true, '{}', false, $2::text, 'why ' || n,
         'upload', now(), 'v1', 'v1' FROM generate_series(1, $3::int) AS n`,
      [botId, status, count],
    );
    await door.sql(
      `INSERT INTO files.indexing_job (file_id, content_version, bot_id, attempts, last_error)
       SELECT id, 'v1', bot_id, 2, 'busy' FROM files.file WHERE bot_id = $1 AND status = 'indexing_pending'`,
      [botId],
    );
  }
  const statuses = async (botId: string) =>
    (await door.sql<{ status: string }>('SELECT DISTINCT status FROM files.file WHERE bot_id = $1', [botId])).map(
      ({ status }) => status,
    );
  async function answer(...line: string[]) {
    const { status, output } = await run(...line);
    expect({ status, output: status === 0 ? '' : output }).toEqual({ status: 0, output: '' });
    return JSON.parse(output) as never;
  }

  it('list what is stuck and what failed, all pages of it, and of one bot', async () => {
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

  it('retry files by their ids, those of a bot, and all that failed', async () => {
    const oneBot = randomUUID();
    await addFiles('retry-a', 'indexing_failed', 2);
    await addFiles(oneBot, 'indexing_failed', 3);
    await addFiles('retry-c', 'indexing_failed', 401);

    const inPart = await run('files', 'retry', 'retry-a_1', 'retry-a_1', 'nothing');
    expect({ ...inPart, output: JSON.parse(inPart.output) as unknown }).toEqual({
      status: 1,
      output: { retried: ['retry-a_1'], refused: [{ fileId: 'nothing', reason: 'File not found.' }] },
    });
    const ofBot: { retried: string[] } = await answer('files', 'retry', '--bot', oneBot);
    expect(ofBot.retried.toSorted()).toEqual([1, 2, 3].map((n) => `${oneBot}_${n}`));
    expect(await statuses('retry-a')).toEqual(expect.arrayContaining(['indexing_failed', 'indexing_pending']));
    const all: { retried: string[] } = await answer('files', 'retry', '--all-failed');

    expect(all.retried.filter((id) => id.startsWith('retry-'))).toHaveLength(402);
    expect(await answer('files', 'failed')).toEqual([]);
    expect(await answer('files', 'retry', '--all-failed')).toEqual({ retried: [], refused: [] });
  });

  it('list the newest dead letters, and say when there are more', async () => {
    const add = (first: number, last: number) =>
      door.sql(
        `INSERT INTO files.dead_letter (id, consumer, event_id, subject, data, attempts, reason)
         SELECT 'dead_' || lpad(n::text, 4, '0'), 'files.probe', n::text, 'files.probed', '{}', 1, 'why'
         FROM generate_series($1::int, $2::int) AS n`,
        [first, last],
      );
    await add(1, 100);
    const all: unknown[] = await answer('dead-letters', 'list', 'files');
    await add(101, 101);

    const { output } = await run('dead-letters', 'list', 'files');

    expect(all).toHaveLength(100);
    const [said, ...rest] = output.split('\n');
    const newest = JSON.parse(rest.join('\n')) as { id: string }[];
    expect(said).toBe('There are more: these are the newest 100.');
    expect([newest.length, newest[0]!.id, newest[99]!.id]).toEqual([100, 'dead_0101', 'dead_0002']);
  });

  it('reconcile what is stored, and say which bots were wrong', async () => {
    await addFiles('wrong', 'indexing_failed', 3);
    await door.sql(`UPDATE files.storage_use SET file_bytes = 9 WHERE bot_id = 'wrong'`);

    expect(await answer('storage', 'reconcile')).toEqual({
      checked: expect.any(Number),
      corrected: [
        { botId: 'wrong', before: { fileBytes: 9, vectorBytes: 3 }, after: { fileBytes: 3, vectorBytes: 3 } },
      ],
    });
    expect(await answer('storage', 'reconcile')).toMatchObject({ corrected: [] });
  });
});
