import { chmod, mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientOf } from '@parley/testing/api';
import { until } from '@parley/testing/until';
import { run, startEmbedded } from '@parley/testing/running-platform';
import { describePlatform } from './platform.behaviour';

describePlatform('embedded mode', () => startEmbedded());

describe('embedded mode on one machine', () => {
  let dataDir: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'parley-machine-'));
    await chmod(dataDir, 0o755);
  });

  afterEach(async () => {
    await rm(dataDir, { recursive: true, force: true });
  });

  function standalone(env: Record<string, string> = {}) {
    return run('dist/apps/standalone/src/main.js', { PORT: '0', PARLEY_DATA_DIR: dataDir, ...env });
  }

  async function credentials() {
    return JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8')) as {
      url: string;
      chatUrl: string;
      email: string;
      token: string;
      workspaceId: string;
    };
  }

  it('prints the first token once, and keeps it where only its owner can read it', async () => {
    const first = standalone();
    await first.said(/Try {8}npm run demo/);
    const { token } = await credentials();
    await first.stop();

    const second = standalone({ SHUTDOWN_TIMEOUT_MS: '10000' });
    await second.said(/Try {8}npm run demo/);
    await second.stop();

    expect(first.output()).toContain(token);
    expect(first.output()).toContain('Account    admin@parley.local');
    expect((await credentials()).email).toBe('admin@parley.local');
    expect(second.output()).not.toContain(token);
    expect(second.output()).toMatch(/README\.md\n\nParley is stopping …\n$/);
    expect((await credentials()).token).toBe(token);
    expect((await stat(join(dataDir, 'credentials.json'))).mode & 0o777).toBe(0o600);
  });

  it.each([
    [{ HOST: '127.0.0.1' }, null],
    [{ HOST: '0.0.0.0' }, '1000'],
    [{ HOST: '0.0.0.0', RATE_LIMIT_PER_SECOND: '0' }, null],
    [{ HOST: '127.0.0.1', RATE_LIMIT_PER_SECOND: '10', RATE_LIMIT_BURST: '7' }, '7'],
  ])('limits rates where others can reach it, unless it is told otherwise: %j', async (env, limit) => {
    const platform = standalone(env);
    await platform.said(/Try {8}npm run demo/);
    const { token, url } = await credentials();
    const { headers } = await fetch(`${url.replace('0.0.0.0', '127.0.0.1')}/v1/admin/account/me`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await platform.stop();

    expect(headers.get('ratelimit-limit')).toBe(limit);
  });

  it('tells all wrong variables of all apps before anything starts', async () => {
    const platform = standalone({ PORT: 'abc', RATE_LIMIT_PER_SECOND: '-1', PARLEY_SECRET_KEY: 'short' });
    await platform.ended;

    expect(
      platform
        .output()
        .match(/^ {2}- \S+/gm)!
        .toSorted(),
    ).toEqual(['  - PARLEY_SECRET_KEY', '  - PORT', '  - RATE_LIMIT_PER_SECOND']);
    expect(await readdir(dataDir)).toEqual([]);
  });

  it.each([
    [
      { DATABASE_URL: 'postgres://ann:hidden@127.0.0.1:1/x' },
      'The Postgres of DATABASE_URL, 127.0.0.1:1, cannot be used: connect ECONNREFUSED 127.0.0.1:1.',
    ],
    [{ HOST: '192.0.2.1' }, '192.0.2.1 is no address of this machine (listen EADDRNOTAVAIL'],
  ])('tells what is wrong with %j in one sentence', async (env, sentence) => {
    const platform = standalone(env);
    await platform.ended;

    expect(platform.output()).toContain(`Parley could not start.\n${sentence}`);
    expect(platform.output()).not.toMatch(/hidden|"level"|\n {4}at /);
  });

  it('finishes after kill -9 what was under way, and has lost nothing', async () => {
    const first = standalone();
    await first.said(/Parley is ready/);
    const { bot } = await clientOf(await credentials()).createBot({});
    const client = clientOf(await credentials(), bot.id);
    const content = Array.from({ length: 400 }, (_, line) => `Line ${line} tells of the sea and of ships.`).join(
      '\n\n',
    );
    const { file } = await client.uploadFile({ key: 'sea.txt', content, index: true });

    process.kill(first.pid, 'SIGKILL');
    await first.ended;
    const second = standalone();
    await second.said(/Parley is ready/);

    const again = clientOf(await credentials(), bot.id);
    const status = async () => (await again.getFile({ id: file.id })).file.status;
    expect(await until(status, (found) => found.startsWith('indexing_') && found !== 'indexing_pending', 60_000)).toBe(
      'indexing_completed',
    );
    const passages = await again.list.filePassages({ id: file.id }).collect();
    const found = passages.flatMap((passage) => passage.content.match(/Line \d+/g) ?? []);
    expect(found).toEqual(Array.from({ length: 400 }, (_, line) => `Line ${line}`));
    await second.stop();
  });

  it('lets one process use a data folder, and tells the second one where the first is', async () => {
    const first = standalone();
    await first.said(/Parley is ready/);

    const second = standalone();
    await second.ended;

    expect(second.output()).toContain((await credentials()).url);
    expect(second.output()).toContain(`kill ${first.pid}`);
    await first.stop();
  });

  it.each([
    ['below its own address', {}, (url: string) => `${url}/chat`],
    ['at CHAT_URL', { CHAT_URL: 'https://chat.example.com/' }, () => 'https://chat.example.com'],
  ])('has the chat of a bot %s, and says so in credentials.json', async (_where, env, expected) => {
    const platform = standalone(env);
    await platform.said(/Parley is ready/);
    const found = await credentials();

    const { bot } = await clientOf(found).createBot({});

    const [chat] = Object.values(bot.integrations);
    expect(found.chatUrl).toBe(expected(found.url));
    expect(chat!.webhookUrl).toBe(`${expected(found.url)}/${chat!.webhookId}`);
    await platform.stop();
  });

  it('makes credentials.json anew when it was lost', async () => {
    const first = standalone();
    await first.said(/Parley is ready/);
    await first.stop();
    await unlink(join(dataDir, 'credentials.json'));

    const second = standalone();
    await second.said(/Parley is ready/);

    const found = await credentials();
    expect((await clientOf(found).listWorkspaces({})).workspaces.map(({ id }) => id)).toContain(found.workspaceId);
    await second.stop();
  });

  it('replaces its secret key while it is stopped, and opens what was sealed before', async () => {
    const first = standalone();
    await first.said(/Parley is ready/);
    const { bot } = await clientOf(await credentials()).createBot({ secrets: { KEY: 'value' } });
    const before = await readFile(join(dataDir, 'secret.key'), 'utf8');
    const command = async (...line: string[]) => {
      const cli = run('dist/apps/cli/src/main.js', { PARLEY_DATA_DIR: dataDir }, line);
      await cli.ended;
      return cli.output();
    };
    const whileRunning = await command('secrets', 'new-key');
    await first.stop();

    const said = await command('secrets', 'new-key');
    const second = standalone();
    await second.said(/Parley is ready/);
    const rotated = await command('secrets', 'rotate');
    await second.stop();

    const [current, ...former] = (await readFile(join(dataDir, 'secret.key'), 'utf8')).split('\n');
    expect(whileRunning).toContain(`in use by process ${first.pid}`);
    expect(said).toContain('There is a new key');
    expect(former.join('\n')).toBe(before);
    expect(rotated).toMatch(/admin: 2 secrets sealed anew/);
    await writeFile(join(dataDir, 'secret.key'), before);
    const wrong = standalone();
    await wrong.ended;
    expect(wrong.output()).toMatch(
      / {2}- PARLEY_SECRET_KEY is another key than before: 2 secrets in the schema "admin"/,
    );
    expect(wrong.output().trim().split('\n')).toHaveLength(5);
    await writeFile(join(dataDir, 'secret.key'), `${current}\n`);
    const third = standalone();
    await third.said(/Parley is ready/);
    expect((await clientOf(await credentials()).getBot({ id: bot.id })).bot.signingSecret).toBe(bot.signingSecret);
    await third.stop();
  });

  it('serves on for as long as it is told to when it stops, and says that it is not ready', async () => {
    const platform = run('dist/apps/standalone/src/main.js', {
      PORT: '0',
      PARLEY_DATA_DIR: dataDir,
      SHUTDOWN_GRACE_MS: '3000',
    });
    await platform.said(/Parley is ready/);
    const { url } = await credentials();
    const statusOf = async (path: string) => (await fetch(`${url}${path}`)).status;

    process.kill(platform.pid, 'SIGTERM');
    const started = performance.now();

    await until(
      () => statusOf('/readyz'),
      (status) => status === 503,
    );
    expect(await statusOf('/healthz')).toBe(200);
    await platform.ended;
    expect(performance.now() - started).toBeGreaterThan(2_900);
  });

  it('runs the demo from the first line of its output to the passages', async () => {
    const platform = standalone();
    await platform.said(/Parley is ready/);

    const demo = run('dist/apps/cli/src/demo.js', { PARLEY_DATA_DIR: dataDir }, ['README.md', 'docs/example.html']);
    await demo.ended;

    expect(demo.output()).toMatch(/README\.md {2}indexing_completed/);
    const told = demo.output().match(/README\.md {2}indexing_\w+/g)!;
    expect(told).toEqual([...new Set(told)]);
    expect(demo.output()).toMatch(/example\.html {2}indexing_completed/);
    expect(demo.output()).toMatch(/\[0\] (title|paragraph|code|list|table)/);
    await platform.stop();
  });
});
