import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { sendTo } from '@parley/testing/public-api';
import { type RunningService, startService } from '@parley/testing/running-service';
import { GatewayConfig } from '../config';
import { GatewayModule } from '../gateway.module';

const script = 'console.log("hello")';
let folder: string;
let consoleDir: string;
let service: RunningService;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-console-'));
  consoleDir = join(folder, 'console');
  const config = Object.assign(new GatewayConfig(), {
    consoleDir,
    contentUrl: 'https://files.example.com',
    chatUrl: 'https://chat.example.com/chat',
  });
  service = await startService((_databaseUrl, platform) => GatewayModule.register(config, platform));
});

afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

const get = (path: string, headers: Record<string, string> = {}) => sendTo(service.url, `GET ${path}`, { headers });

it('shows a notice that reloads itself until the console is built', async () => {
  const answer = await get('/console');

  expect(answer).toMatchObject({ status: 503, text: expect.stringContaining('The console is being built') });
  expect(answer.text).toContain('http-equiv="refresh"');
});

describe('the built console', () => {
  beforeAll(async () => {
    await mkdir(join(consoleDir, 'assets'), { recursive: true });
    await writeFile(join(folder, 'secret.js'), 'secret');
    await writeFile(join(consoleDir, 'assets/main-1.js'), script);
    await writeFile(join(consoleDir, 'assets/main-1.js.br'), brotliCompressSync(script));
    await writeFile(join(consoleDir, 'assets/main-1.js.gz'), gzipSync(script));
    await writeFile(join(consoleDir, 'index.html'), '<meta property="csp-nonce" nonce="PARLEY_NONCE">');
  });

  it.each(['/console', '/console/', '/console/w/1/bots', '/console?x=1'])(
    'serves the page of the built console at %s',
    async (path) => {
      const { status, headers, text } = await get(path);

      const nonce = /nonce="([^"]+)"/.exec(text)![1]!;
      const policy = String(headers['content-security-policy']).split('; ');
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'cache-control': 'no-cache',
        'content-type': 'text/html; charset=utf-8',
        'cross-origin-opener-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      });
      expect(policy).toEqual(
        expect.arrayContaining([
          "default-src 'self'",
          "script-src 'self'",
          `style-src 'self' 'nonce-${nonce}'`,
          "connect-src 'self' https://files.example.com https://chat.example.com",
          "object-src 'none'",
          "base-uri 'none'",
          "form-action 'self'",
          "frame-ancestors 'none'",
        ]),
      );
    },
  );

  it('sends another nonce in each response of the console', async () => {
    expect((await get('/console')).text).not.toBe((await get('/console')).text);
  });

  it.each([
    ['br, gzip', 'br'],
    ['gzip', 'gzip'],
    ['identity', undefined],
  ])('sends files of the console for "%s" with the content coding %s', async (accepted, coding) => {
    const { status, headers } = await get('/console/assets/main-1.js', { 'accept-encoding': accepted });

    expect(status).toBe(200);
    expect(headers['content-encoding']).toBe(coding);
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      vary: expect.stringContaining('accept-encoding'),
    });
  });

  it.each([
    '/console/assets/none.js',
    '/console/assets/../../secret.js',
    '/console/assets/%2e%2e/%2e%2e/secret.js',
    '/console/assets/..%2f..%2fsecret.js',
    '/console/assets/main-1.js.br',
  ])('returns 404 for a console file at %s', async (path) => {
    expect(await get(path)).toMatchObject({ status: 404, text: expect.not.stringContaining('secret"') });
  });

  it('returns 304 to a browser that has the file of the console', async () => {
    const { etag } = (await get('/console/assets/main-1.js')).headers;

    const answer = await get('/console/assets/main-1.js', { 'if-none-match': etag! });

    expect(answer).toMatchObject({ status: 304, text: '', headers: { etag } });
  });

  it('serves the console from memory until there is another build', async () => {
    const before = await get('/console/assets/main-1.js');
    await rm(join(consoleDir, 'assets/main-1.js'));
    const fromMemory = await get('/console/assets/main-1.js');
    const page = join(consoleDir, 'index.html');
    await writeFile(page, 'another build');
    await utimes(page, new Date(), new Date(Date.now() + 60_000));

    expect([before.status, fromMemory.status, fromMemory.text]).toEqual([200, 200, script]);
    expect((await get('/console')).text).toBe('another build');
    expect((await get('/console/assets/none.js')).status).toBe(404);
    expect((await get('/console/assets/main-1.js')).status).toBe(404);
  });
});
