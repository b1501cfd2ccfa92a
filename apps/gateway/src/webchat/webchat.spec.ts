import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../gateway.module';

const script = 'customElements.define("x-x", class extends HTMLElement {});';
let folder: string;
let webchatDir: string;
let api: PublicApi;
let alice: Account;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-webchat-'));
  webchatDir = join(folder, 'webchat');
  api = await startPublicApi(
    {
      register: (config, platform) =>
        GatewayModule.register(
          Object.assign(config, { webchatDir, contentUrl: 'https://files.example.com' }),
          platform,
        ),
    },
    AdminModule,
  );
  alice = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function newWebchat(settings: object): Promise<string> {
  const { bot } = await alice.client.createBot({});
  const headers = { authorization: `Bearer ${alice.token}`, 'x-workspace-id': alice.workspaceId };
  await api.send(`PUT /v1/admin/bots/${bot.id}/webchat/settings`, { headers, json: settings });
  return Object.values(bot.integrations)[0]!.webhookId;
}

const get = (path: string, headers: Record<string, string> = {}) => api.send(`GET ${path}`, { headers });

it('returns 503 until the widget is built', async () => {
  const webhookId = await newWebchat({});

  for (const path of ['/webchat/embed.js', '/webchat/assets/chat-abc.js', `/webchat/${webhookId}`]) {
    expect(await get(path)).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      json: { message: expect.stringContaining('npm run build') },
    });
  }
});

describe('the built widget', () => {
  beforeAll(async () => {
    await mkdir(webchatDir);
    await writeFile(join(webchatDir, 'embed.js'), script);
    await writeFile(join(webchatDir, 'embed.js.gz'), gzipSync(script));
    await mkdir(join(webchatDir, 'assets'));
    await writeFile(join(webchatDir, 'assets/chat-abc.js'), 'export const client = 1;');
    await writeFile(join(webchatDir, 'page.css'), 'body { margin: 0; }');
    await writeFile(join(webchatDir, 'licences.md'), '# Licences');
    await writeFile(join(webchatDir, 'index.html'), '<parley-webchat webhook-id="PARLEY_WEBHOOK_ID"></parley-webchat>');
  });

  it('serves the built widget to pages of every origin, compressed, to be fetched again after a while', async () => {
    const { status, headers } = await get('/webchat/embed.js?v=1', {
      origin: 'https://www.example.com',
      'accept-encoding': 'gzip',
    });

    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'access-control-allow-origin': 'https://www.example.com',
      'cache-control': 'public, max-age=300',
      'content-encoding': 'gzip',
      'content-type': 'text/javascript; charset=utf-8',
      'cross-origin-resource-policy': 'cross-origin',
    });
  });

  it.each([
    ['chat-abc.js', 'public, max-age=31536000, immutable'],
    ['chat-of-an-earlier-build.js?attempt=1', 'no-cache'],
  ])('serves the public client at assets/%s to pages of every origin', async (name, cacheControl) => {
    expect(await get(`/webchat/assets/${name}`, { origin: 'https://www.example.com' })).toMatchObject({
      status: 200,
      text: 'export const client = 1;',
      headers: {
        'access-control-allow-origin': 'https://www.example.com',
        'cache-control': cacheControl,
        'content-type': 'text/javascript; charset=utf-8',
        'cross-origin-resource-policy': 'cross-origin',
      },
    });
  });

  it('serves the notices of packages beside the widget', async () => {
    expect(await get('/webchat/licences.md')).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      text: '# Licences',
    });
  });

  it('serves a page of the web chat without inline scripts and styles, which other pages may frame', async () => {
    const webhookId = await newWebchat({});

    const { status, headers, text } = await get(`/webchat/${webhookId}`);

    const policy = String(headers['content-security-policy']).split('; ');
    expect(policy.find((rule) => rule.startsWith('connect-src'))).toMatch(
      /^connect-src 'self' http\S+ https:\/\/files\.example\.com$/,
    );
    expect(status).toBe(200);
    expect(text).toBe(`<parley-webchat webhook-id="${webhookId}"></parley-webchat>`);
    expect(policy).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "style-src 'self'", 'frame-ancestors *']),
    );
  });

  it.each(['none', '"><script>', '%00', '..%2f..%2fsecret.js', 'x'.repeat(200)])(
    'returns 404 for the web chat page of %s',
    async (id) => {
      expect((await get(`/webchat/${encodeURI(id)}`)).status).toBe(404);
    },
  );

  it('limits a web chat to pages of some origins', async () => {
    const allowed = 'https://www.example.com';
    const webhookId = await newWebchat({ allowedOrigins: [allowed] });
    const mayRead = async (path: string, origin: string) =>
      (await get(path, { origin })).headers['access-control-allow-origin'] === origin;
    const paths = [`/webchat/${webhookId}/settings`, `/chat/${webhookId}/hello`];

    for (const path of paths) {
      expect(await mayRead(path, allowed)).toBe(true);
      expect(await mayRead(path, 'https://evil.example')).toBe(false);
    }
    const { headers } = await get(`/webchat/${webhookId}`);
    expect(headers['content-security-policy']).toMatch(/frame-ancestors https:\/\/www\.example\.com http\S+$/);
    const preflight = await api.send(`OPTIONS ${paths[1]}`, {
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'GET' },
    });
    expect(preflight.headers['access-control-allow-origin']).toBeUndefined();
  });

  it('allows pages of every origin to read without a list, and the error of an unknown web chat', async () => {
    const webhookId = await newWebchat({});

    for (const path of [`/webchat/${webhookId}/settings`, '/webchat/none/settings', '/chat/none/hello']) {
      const { headers } = await get(path, { origin: 'https://any.example' });
      expect(headers['access-control-allow-origin']).toBe('https://any.example');
    }
  });
});
