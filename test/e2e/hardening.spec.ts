import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as ChatClient } from '@botpress/chat';
import { clientOf, parley } from '@parley/testing/api';
import { type TestResponse, sendTo } from '@parley/testing/public-api';
import { type RunningPlatform, startEmbedded } from '@parley/testing/running-platform';

let folder: string;
let platform: RunningPlatform;

/** Default configuration, except for data folder, port, database and log level. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-hardening-'));
  platform = await startEmbedded({
    dataDir: join(folder, 'data'),
    logFile: join(folder, 'log'),
    env: { LOG_LEVEL: 'debug' },
  });
});

afterAll(async () => {
  await platform?.stop();
  await rm(folder, { recursive: true, force: true });
});

const send = (line: string, options?: Parameters<typeof sendTo>[2]) => sendTo(platform.url, line, options);
const authorized = (headers: Record<string, string> = {}) => ({
  authorization: `Bearer ${platform.token}`,
  ...headers,
});

/** Sends raw text, for requests that HTTP libraries refuse to send. */
function sendRaw(text: string): Promise<string> {
  const { hostname: host, port } = new URL(platform.url);
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(port), host, () => socket.write(text));
    socket.setTimeout(10_000, () => socket.destroy(new Error(`No end after: ${answer}`)));
    socket.on('data', (data: Buffer) => (answer += data.toString()));
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}

function weaknesses({ headers, text }: Pick<TestResponse, 'headers' | 'text'>): string[] {
  const inside = [/\n\s+at .+:\d+:\d+/, /node_modules/, /\/src\/|\/dist\//, /postgres(ql)?:\/\//, /ECONN|ENOENT/];
  return [
    ...(headers['x-content-type-options'] === 'nosniff' ? [] : ['no x-content-type-options: nosniff']),
    ...(/default-src 'none'/.test(String(headers['content-security-policy']))
      ? []
      : ['no content-security-policy with default-src none']),
    ...(headers['referrer-policy'] === 'no-referrer' ? [] : ['no referrer-policy: no-referrer']),
    ...['server', 'x-powered-by', 'via', 'set-cookie'].filter((name) => headers[name] !== undefined),
    ...inside.filter((pattern) => pattern.test(text)).map(String),
  ];
}

function isReachable(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2_000 });
    const end = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
}

it('listens on the loopback address only', async () => {
  const { hostname: host, port } = new URL(platform.url);
  const others = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4');

  expect(host).toBe('127.0.0.1');
  expect(await Promise.all(others.map(({ address }) => isReachable(address, Number(port))))).not.toContain(true);
});

it.each<[string, number]>([
  ['GET /healthz', 200],
  ['GET /readyz', 200],
  ['GET /metrics', 200],
  ['GET /docs', 200],
  ['GET /openapi.json', 200],
  ['GET /v1/admin/workspaces', 401],
  ['GET /v1/files', 401],
  ['GET /operator/admin/dead-letters', 401],
  ['GET /nothing', 404],
  ['GET /%zz', 400],
  ['GET /v1/files/%2e%2e%2f%2e%2e%2fetc%2fpasswd', 401],
  ['GET /docs/../../package.json', 404],
  ['GET /docs/%2e%2e/package.json', 404],
  ['GET /content/..%2f..%2fsecret.key', 403],
  ['GET /content/../secret.key', 404],
  ['PUT /content/file_1?signature=x', 403],
  ['TRACE /v1/admin/workspaces', 404],
  ['PROPFIND /v1/admin/workspaces', 404],
  ['DELETE /healthz', 404],
  ['OPTIONS /content/x', 400],
  ['POST /operator/accounts', 401],
])('answers %s with %d, with security headers and without internals', async (line, status) => {
  const answer = await send(line);

  expect(weaknesses(answer)).toEqual([]);
  expect(answer.status).toBe(status);
});

it.each<[string, string, RegExp]>([
  ['text that is not HTTP', 'hello\r\n\r\n', /^HTTP\/1\.1 400 /],
  ['an unknown method', 'BREW /v1/files HTTP/1.1\r\nhost: x\r\n\r\n', /^HTTP\/1\.1 400 /],
  ['too long headers', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`, /^HTTP\/1\.1 400 /],
  [
    'two lengths',
    'POST /v1/admin/bots HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}',
    /^HTTP\/1\.1 400 /,
  ],
  ['a request for another host', 'CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n', /^(HTTP\/1\.1 4|$)/],
])('cuts off a client with %s', async (_what, text, expected) => {
  const answer = await sendRaw(text);

  expect(answer).toMatch(expected);
  expect(answer).not.toMatch(/\n\s+at |node_modules|server:/i);
});

it.each<[string, () => string, number]>([
  ['sets a prototype', () => '{"name":"x","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}', 200],
  ['is nested too deeply', () => `${'['.repeat(50_000)}${']'.repeat(50_000)}`, 400],
  ['is not JSON', () => '{"name":', 400],
  ['exceeds the size limit', () => `"${'x'.repeat(65_000_000)}"`, 413],
])('stays healthy after a body that %s', async (_what, bodyOf, status) => {
  const headers = authorized({ 'x-workspace-id': platform.workspaceId, 'content-type': 'application/json' });

  const answer = await send('POST /v1/admin/bots', { headers, body: bodyOf() });

  expect(weaknesses(answer)).toEqual([]);
  expect(answer.status).toBe(status);
  expect(answer.text).not.toContain('polluted');
  expect((await send('GET /healthz')).json).toEqual({ status: 'ok' });
});

it('allows any origin, and accepts no cookie or basic authentication that a browser would add by itself', async () => {
  const origin = 'https://evil.example';
  const basic = `Basic ${Buffer.from(`x:${platform.token}`).toString('base64')}`;

  const answers = await Promise.all([
    send('GET /v1/admin/workspaces', { headers: { origin, cookie: `token=${platform.token}` } }),
    send('GET /v1/admin/workspaces', { headers: { origin, authorization: basic } }),
    send('GET /v1/admin/workspaces', { headers: authorized({ origin }) }),
  ]);

  expect(answers.map(({ status }) => status)).toEqual([401, 401, 200]);
  expect(answers.flatMap(weaknesses)).toEqual([]);
});

it('serves documentation that loads nothing from other hosts and runs only its own scripts', async () => {
  const { headers, text } = await send('GET /docs');

  const policy = String(headers['content-security-policy']);
  const [, inline] = /<script>([\s\S]+?)<\/script>/.exec(text)!;
  expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
  expect(policy).not.toMatch(/https?:|\*|script-src[^;]*unsafe/);
  expect(policy).toContain(`'sha256-${createHash('sha256').update(inline!).digest('base64')}'`);
  expect(inline).toContain('validatorUrl: null');
});

it('exposes no tenant data in its metrics', async () => {
  const { client, botId, ...known } = await somebodyWithSecrets();
  await client.listFiles({});

  const { text } = await send('GET /metrics');

  for (const secret of [botId, platform.workspaceId, platform.token, ...Object.values(known)]) {
    expect(text).not.toContain(secret);
  }
  expect(text).toContain('parley_');
});

it('makes its files accessible to their owner only', async () => {
  await somebodyWithSecrets();
  const root = join(folder, 'data');
  const modeOf = async (path: string) => (await stat(join(root, path))).mode & 0o777;

  const names = await readdir(root);

  expect(names).toEqual(expect.arrayContaining(['blobs', 'credentials.json', 'secret.key']));
  expect(await modeOf('')).toBe(process.getuid?.() === 0 ? 0o711 : 0o700);
  expect(await modeOf('secret.key')).toBe(0o600);
  expect(await modeOf('credentials.json')).toBe(0o600);
  expect(await modeOf('blobs')).toBe(0o700);
});

it('logs no token, key, secret or email address', async () => {
  const { client, botId, ...secrets } = await somebodyWithSecrets();
  const secret = randomBytes(12).toString('hex');
  const headers = { 'x-bot-id': botId, 'content-type': 'application/json' };
  const key = `bp_pat_${randomBytes(18).toString('hex')}`;
  await send('GET /v1/files', { headers: { ...headers, authorization: `Bearer ${key}` } });
  await send('GET /v1/files', { headers: { ...headers, authorization: secret } });
  await send('POST /v1/files', { headers: authorized(headers), body: `{"name":"${secret}` });
  await send('PUT /v1/files', { headers: authorized(headers), json: { key: 1, secret } });
  await send(`GET /v1/chat/users?tags[${secret}]=${secret}`, { headers: authorized(headers) });
  await send(`GET /content/file_1?signature=${secret}`);
  await send(`GET /chat/${secret}/users/me`, { headers: { 'x-user-key': secret } });
  await client.listFiles({});
  const account = parley(platform, 'account', 'create', `${secret}@example.com`);
  const created = parley(platform, 'token', 'create', `${secret}@example.com`).stdout.trim();
  const keyFile = (await readFile(join(folder, 'data', 'secret.key'), 'utf8')).trim();
  await platform.stop();

  const log = await readFile(join(folder, 'log'), 'utf8');
  const lines = log.split('\n').filter((line) => line.startsWith('{'));
  const known = { ...secrets, key, created, keyFile, email: secret };

  expect(account.status).toBe(0);
  expect(created).toMatch(/^bp_pat_/);
  expect(lines.some((line) => line.includes(botId))).toBe(true);
  expect(lines.some((line) => line.includes('"msg":"request"'))).toBe(true);
  expect(Object.entries(known).filter(([, value]) => lines.some((line) => line.includes(value)))).toEqual([]);
  expect(lines.filter((line) => line.includes(platform.token))).toEqual([]);
});

async function somebodyWithSecrets() {
  const client = clientOf(platform);
  const value = randomBytes(12).toString('hex');
  const { bot } = await client.createBot({ secrets: { KEY: value } });
  const botKey = (await client.createBotApiKey({ botId: bot.id })).value;
  const asBot = clientOf({ ...platform, token: botKey }, bot.id);
  const content = randomBytes(12).toString('hex');
  const { file } = await asBot.uploadFile({ key: 'notes.txt', content });
  const { uploadUrl } = (await asBot.upsertFile({ key: 'more.txt', size: 3 })).file as { uploadUrl: string };
  const { url } = (await asBot.getFile({ id: file.id })).file;
  await fetch(url);
  const signatureOf = (address: string) => new URL(address).searchParams.get('signature')!;
  const [chat] = Object.values(bot.integrations);
  const { key: userKey } = await new ChatClient({
    apiUrl: `${platform.url}/chat/${chat!.webhookId}`,
  }).createUser({});
  const secrets = {
    ...{ value, content, botKey, userKey, signingSecret: bot.signingSecret },
    ...{ upload: signatureOf(uploadUrl), download: signatureOf(url) },
  };
  return { client: asBot, botId: bot.id, ...secrets };
}
