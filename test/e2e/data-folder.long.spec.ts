import { chmod, mkdtemp, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientOf } from '@parley/testing/api';
import { freePort } from '@parley/testing/free-port';
import { waitFor } from '@parley/testing/wait-for';
import { run } from '@parley/testing/running-platform';

let dataDir: string;

function standalone(env: Record<string, string> = {}) {
  return run('dist/apps/standalone/src/main.js', { PORT: '0', PARLEY_DATA_DIR: dataDir, ...env });
}

async function newDataDir(): Promise<void> {
  dataDir = await mkdtemp(join(tmpdir(), 'parley-machine-'));
  // As root, Postgres runs as another user, which passes through.
  await chmod(dataDir, 0o711);
}

const removeDataDir = () => rm(dataDir, { recursive: true, force: true });

/** These tests share one data folder and depend on their order. */
describe('embedded mode with a data folder of its own', () => {
  let platform: ReturnType<typeof standalone>;
  let bot: Awaited<ReturnType<ReturnType<typeof clientOf>['createBot']>>['bot'];
  let fileId: string;
  let firstKeyFile: string;
  let lostCredentials: Credentials;
  let tunnelPort: number;

  interface Credentials {
    url: string;
    chatUrl: string;
    email: string;
    token: string;
    workspaceId: string;
  }

  beforeAll(newDataDir);

  afterAll(async () => {
    await platform?.stop();
    await removeDataDir();
  });

  const keyFile = () => join(dataDir, 'secret.key');
  const credentialsFile = () => join(dataDir, 'credentials.json');
  const credentials = async () => JSON.parse(await readFile(credentialsFile(), 'utf8')) as Credentials;

  async function start(env: Record<string, string> = {}): Promise<void> {
    platform = standalone(env);
    await platform.said(/Try {8}npm run demo/);
  }

  async function command(...line: string[]): Promise<string> {
    const cli = run('dist/apps/cli/src/main.js', { PARLEY_DATA_DIR: dataDir }, line);
    await cli.ended;
    return cli.output();
  }

  async function rateLimit(): Promise<string | null> {
    const { token, url } = await credentials();
    const { headers } = await fetch(`${url.replace('0.0.0.0', '127.0.0.1')}/v1/admin/account/me`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return headers.get('ratelimit-limit');
  }

  it('prints the first token, and stores it readable for its owner only', async () => {
    await start();

    const { token, email } = await credentials();
    expect(platform.output()).toContain(token);
    expect(platform.output()).toContain('Account    admin@parley.local');
    expect(email).toBe('admin@parley.local');
    expect((await stat(credentialsFile())).mode & 0o777).toBe(0o600);
  });

  it('prints how to get the tunnel, which other ports than 3000 have only with TUNNEL_PORT', () => {
    expect(platform.output()).toContain('\n  Bots       bp dev needs a tunnel: start with TUNNEL_PORT=3100\n');
  });

  it('applies no rate limit on a loopback address', async () => {
    expect(await rateLimit()).toBeNull();
  });

  it('serves the chat of a bot below its own URL, as credentials.json says', async () => {
    const found = await credentials();

    bot = (await clientOf(found).createBot({ secrets: { KEY: 'value' } })).bot;

    const [chat] = Object.values(bot.integrations);
    expect(found.chatUrl).toBe(`${found.url}/chat`);
    expect(chat!.webhookUrl).toBe(`${found.url}/chat/${chat!.webhookId}`);
  });

  it('refuses a second process on the same data folder, and names the first', async () => {
    const second = standalone();
    await second.ended;

    expect(second.output()).toContain((await credentials()).url);
    expect(second.output()).toContain(`kill ${platform.pid}`);
  });

  it('refuses a new secret key while it is running', async () => {
    expect(await command('secrets', 'new-key')).toContain(`in use by process ${platform.pid}`);
  });

  it('finishes indexing after kill -9, loses nothing, and does not print the token again', async () => {
    const lines = Array.from({ length: 400 }, (_, line) => `Line ${line}`);
    const content = lines.map((line) => `${line} tells of the sea and of ships.`).join('\n\n');
    const { file } = await clientOf(await credentials(), bot.id).uploadFile({ key: 'sea.txt', content, index: true });
    fileId = file.id;
    const { token } = await credentials();
    process.kill(platform.pid, 'SIGKILL');
    await platform.ended;

    await start({ HOST: '0.0.0.0', SHUTDOWN_TIMEOUT_MS: '10000' });

    const { url, ...rest } = await credentials();
    const client = clientOf({ ...rest, url: url.replace('0.0.0.0', '127.0.0.1') }, bot.id);
    const status = async () => (await client.getFile({ id: fileId })).file.status;
    expect(await waitFor(status, (found) => found !== 'indexing_pending', 60_000)).toBe('indexing_completed');
    const passages = await client.list.filePassages({ id: fileId }).collect();
    expect(passages.flatMap((passage) => passage.content.match(/Line \d+/g) ?? [])).toEqual(lines);
    expect(platform.output()).not.toContain(token);
    expect(rest.token).toBe(token);
  });

  it('limits rates on an address that others can reach', async () => {
    expect(await rateLimit()).toBe('1000');
  });

  it('prints that it is stopping', async () => {
    await platform.stop();

    expect(platform.output()).toMatch(/README\.md\n\nParley is stopping …\n$/);
  });

  it('creates a new secret key while it is stopped, and keeps the former one', async () => {
    firstKeyFile = await readFile(keyFile(), 'utf8');

    expect(await command('secrets', 'new-key')).toContain('Created a new key');

    const [, ...former] = (await readFile(keyFile(), 'utf8')).split('\n');
    expect(former.join('\n')).toBe(firstKeyFile);
  });

  it('creates credentials.json again when it is missing, before it is ready', async () => {
    lostCredentials = await credentials();
    await unlink(credentialsFile());
    tunnelPort = await freePort();
    const port = await freePort();
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    // Without a pause: a moment too early is a few milliseconds long.
    const firstRead = async () => {
      for (const deadline = Date.now() + 60_000; Date.now() < deadline && !(await isReady()););
      return credentials();
    };
    const whenReady = firstRead();

    await start({
      PORT: String(port),
      CHAT_URL: 'https://chat.example.com/',
      TUNNEL_PORT: String(tunnelPort),
      RATE_LIMIT_PER_SECOND: '10',
      RATE_LIMIT_BURST: '7',
      SHUTDOWN_GRACE_MS: '1000',
    });

    const found = await credentials();
    expect(await whenReady).toEqual(found);
    expect(found).toMatchObject({ workspaceId: lostCredentials.workspaceId, email: lostCredentials.email });
    expect((await clientOf(found).listWorkspaces({})).workspaces.map(({ id }) => id)).toContain(found.workspaceId);
  });

  it('prints how the code of bots is isolated', () => {
    expect(platform.output()).toMatch(/\n {2}Isolation {2}(bwrap|process)\n/);
  });

  it('opens the tunnel on TUNNEL_PORT, and prints the command that uses it', async () => {
    const url = `http://127.0.0.1:${tunnelPort}`;

    expect(platform.output()).toContain(`\n  Bots       bp dev --tunnel-url ${url}\n`);
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  it('limits rates on any address when RATE_LIMIT_PER_SECOND is set', async () => {
    expect(await rateLimit()).toBe('7');
  });

  it('serves the chat of a bot at CHAT_URL, as credentials.json says', async () => {
    const { bot: found } = await clientOf(await credentials()).getBot({ id: bot.id });

    const [chat] = Object.values(found.integrations);
    expect((await credentials()).chatUrl).toBe('https://chat.example.com');
    expect(chat!.webhookUrl).toBe(`https://chat.example.com/${chat!.webhookId}`);
  });

  it('decrypts secrets with the former key, and re-encrypts them with the new one', async () => {
    expect((await clientOf(await credentials()).getBot({ id: bot.id })).bot.signingSecret).toBe(bot.signingSecret);

    expect(await command('secrets', 'rotate')).toMatch(/admin: 2 secrets encrypted again/);
  });

  it('keeps serving for SHUTDOWN_GRACE_MS after SIGTERM, and reports that it is not ready', async () => {
    const { url } = await credentials();
    const statusOf = async (path: string) => (await fetch(`${url}${path}`)).status;

    process.kill(platform.pid, 'SIGTERM');

    await waitFor(
      () => statusOf('/readyz'),
      (status) => status === 503,
    );
    expect(await statusOf('/healthz')).toBe(200);
    await platform.ended;
  });

  it('refuses to start with a key that decrypts nothing', async () => {
    const currentKeyFile = await readFile(keyFile(), 'utf8');
    await writeFile(keyFile(), firstKeyFile);
    platform = standalone();
    await platform.ended;
    await writeFile(keyFile(), `${currentKeyFile.split('\n')[0]}\n`);

    expect(platform.output()).toMatch(/ {2}- PARLEY_SECRET_KEY has changed: 2 secrets in the schema "admin"/);
    expect(platform.output().trim().split('\n')).toHaveLength(5);
  });

  it('starts with the new key alone, and has no rate limit when it is set to 0', async () => {
    await start({ HOST: '0.0.0.0', RATE_LIMIT_PER_SECOND: '0', TUNNEL_PORT: '0' });

    const { url, ...rest } = await credentials();
    const client = clientOf({ ...rest, url: url.replace('0.0.0.0', '127.0.0.1') });
    expect((await client.getBot({ id: bot.id })).bot.signingSecret).toBe(bot.signingSecret);
    expect(await rateLimit()).toBeNull();
  });

  it('does not print how to get the tunnel where it is turned off', () => {
    expect(platform.output()).not.toContain('bp dev');
  });

  it('limits rates behind a proxy on the same machine', async () => {
    await platform.stop();

    await start({ TRUSTED_PROXIES: '127.0.0.1' });

    expect(await rateLimit()).toBe('1000');
  });

  it('runs the demo, which prints each status once and then the passages', async () => {
    const demo = run('dist/apps/cli/src/demo.js', { PARLEY_DATA_DIR: dataDir }, ['README.md', 'docs/example.html']);
    await demo.ended;

    expect(demo.output()).toMatch(/README\.md {2}indexing_completed/);
    const told = demo.output().match(/README\.md {2}indexing_\w+/g)!;
    expect(told).toEqual([...new Set(told)]);
    expect(demo.output()).toMatch(/example\.html {2}indexing_completed/);
    expect(demo.output()).toMatch(/\[0\] (title|paragraph|code|list|table)/);
  });
});
