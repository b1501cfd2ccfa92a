import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerWith, failWith, ModelServer } from '@parley/testing/model-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { startServiceOn } from '@parley/testing/running-service';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { ModelsConfig } from '../config';
import { ModelsModule } from '../models.module';
import { KnownProvidersService } from './known-providers.service';

const path = '/operator/models/providers';
const key = 'sk-of-the-provider';

let api: PublicApi;
let account: Account;
let ofVariables: ModelServer;
let upstream: ModelServer;
let other: ModelServer;

beforeAll(async () => {
  [ofVariables, upstream, other] = await Promise.all([
    ModelServer.start(['of-variables']),
    ModelServer.start(['small', 'large']),
    ModelServer.start(['other']),
  ]);
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ModelsModule, ModelsConfig, { completionsUrl: ofVariables.url, completionsApiKey: 'sk-of-variables' }),
  );
  account = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  await Promise.all([ofVariables, upstream, other].map((server) => server?.stop()));
});

beforeEach(async () => {
  for (const server of [ofVariables, upstream, other]) {
    server.requests.length = 0;
    server.answer = answerWith('hello');
  }
  for (const { name, source } of await list()) if (source === 'operator') await operate('DELETE', `/${name}`);
});

function operate(method: string, below = '', json?: object) {
  const headers = { authorization: `Bearer ${api.operatorToken}` };
  return api.send(`${method} ${path}${below}`, { headers, json });
}

async function list(): Promise<{ name: string; source: string; [field: string]: unknown }[]> {
  return (await operate('GET')).json.providers;
}

const put = (name: string, json: object) => operate('PUT', `/${name}`, json);

async function newBot() {
  const { bot } = await account.client.createBot({});
  const headers = { authorization: `Bearer ${account.token}`, 'x-bot-id': bot.id };
  const json = { messages: [{ role: 'user', content: 'hi' }], options: { skipCache: true } };
  return (more: object = {}) => api.send('POST /v2/cognitive/generate-text', { headers, json: { ...json, ...more } });
}

it('asks a provider of an operator before those of the configuration, with its key', async () => {
  const generate = await newBot();
  expect((await generate()).json.metadata.model).toBe('default:of-variables');

  const { status, json } = await put('local', { url: upstream.url, key, roles: { auto: 'large' } });

  expect({ status, json }).toMatchObject({
    status: 200,
    json: { name: 'local', url: upstream.url, source: 'operator', hasKey: true, roles: { auto: 'large' } },
  });
  expect((await generate()).json.metadata.model).toBe('local:large');
  expect(upstream.requests[0]!.headers.authorization).toBe(`Bearer ${key}`);
  expect((await generate({ model: 'of-variables' })).json.metadata.model).toBe('default:of-variables');
});

it('sends the name of a model to a server that lists none, and then that of its role', async () => {
  const silent = await ModelServer.start([]);
  await put('silent', { url: silent.url, roles: { auto: 'usual' } });
  const generate = await newBot();

  const named = await generate({ model: 'deployment-1' });
  silent.answer = (request, response) =>
    request.body.model === 'usual' ? answerWith('hello')(request, response) : void failWith(404)(request, response);
  const unknown = await generate({ model: 'deployment-2' });
  const ofProvider = await generate({ model: 'openai:gpt-4.1' });
  await silent.stop();

  expect(named.json.metadata).toMatchObject({ model: 'silent:deployment-1' });
  expect(unknown.json.metadata).toMatchObject({ model: 'silent:usual', warnings: [{ type: 'fallback_used' }] });
  expect(ofProvider.json.metadata).toMatchObject({ model: 'silent:usual', warnings: [{ type: 'fallback_used' }] });
  expect(silent.requests.map(({ body }) => body.model)).toEqual(['deployment-1', 'deployment-2', 'usual', 'usual']);
});

it('lists providers without their keys, those of the configuration as such', async () => {
  await put('local', {
    url: upstream.url,
    key,
    models: [{ name: 'mine', upstream: 'small', prices: { input: 1, output: 2 } }],
  });

  const { text, json } = await operate('GET');

  expect(json.providers).toMatchObject([
    {
      ...{ name: 'local', source: 'operator', hasKey: true, state: 'unknown', failingSince: null, lastError: null },
      models: [{ name: 'mine', upstream: 'small', prices: { input: 1, output: 2 } }],
    },
    { name: 'default', source: 'configuration', hasKey: true, url: `${ofVariables.url}/` },
  ]);
  expect(text).not.toContain('sk-');
});

it('stores the key encrypted', async () => {
  await put('local', { url: upstream.url, key });

  const rows = await api.sql<{ sealed_key: string }>('SELECT * FROM models.provider');

  expect(rows).toHaveLength(1);
  expect(JSON.stringify(rows)).not.toContain(key);
  expect(rows[0]!.sealed_key).toMatch(/^[0-9a-f]{8}\./);
});

it('keeps the key for the same URL, wants it anew for another one, and removes it for null', async () => {
  const generate = await newBot();
  await put('local', { url: upstream.url, key });

  expect((await put('local', { url: upstream.url, concurrency: 3 })).json).toMatchObject({
    hasKey: true,
    concurrency: 3,
  });
  await generate();
  expect(upstream.requests.at(-1)!.headers.authorization).toBe(`Bearer ${key}`);

  const moved = await put('local', { url: other.url });
  expect(moved.status).toBe(400);
  expect(moved.json.message).toContain('key is missing: the URL of the provider "local" changes');
  expect(moved.text).not.toContain(key);
  await generate();
  expect(other.requests).toEqual([]);

  expect((await put('local', { url: other.url, key: null })).json).toMatchObject({ hasKey: false, url: other.url });
  await generate();
  expect(other.requests[0]!.headers.authorization).toBeUndefined();
});

it('sends no key to an address that was changed twice, by way of no key', async () => {
  await put('local', { url: upstream.url, key });
  await put('local', { url: other.url, key: null });

  expect((await put('local', { url: upstream.url })).json.hasKey).toBe(false);
});

it('replaces all settings but the key', async () => {
  await put('local', { url: upstream.url, key, rate: 10, timeoutMs: 5_000 });

  const { json } = await put('local', { url: upstream.url });

  expect(json).not.toHaveProperty('rate');
  expect(json).not.toHaveProperty('timeoutMs');
});

it('changes the order of fallback, and deletes', async () => {
  const generate = await newBot();
  await put('one', { url: upstream.url });
  await put('two', { url: other.url });
  expect((await generate()).json.metadata.provider).toBe('one');

  const { json } = await operate('POST', '/order', { names: ['two', 'one'] });
  expect(json.providers.map(({ name }: { name: string }) => name)).toEqual(['two', 'one', 'default']);
  expect((await generate()).json.metadata.provider).toBe('two');

  await operate('DELETE', '/two');
  expect((await generate()).json.metadata.provider).toBe('one');
  expect((await operate('DELETE', '/two')).status).toBe(404);
  for (const names of [['one', 'two'], ['one', 'one'], ['default']])
    expect((await operate('POST', '/order', { names })).json.message).toBe(
      'names must have each provider that an operator has set, once: one.',
    );
});

it('leaves providers of the configuration to the configuration', async () => {
  for (const { status, json } of [await put('default', { url: upstream.url }), await operate('DELETE', '/default')]) {
    expect(status).toBe(400);
    expect(json.message).toContain('The provider "default" is set by the configuration');
  }
});

it.each([
  [{}, 'url is missing'],
  [{ url: 'ftp://example.com' }, 'url must be a URL such as https://api.openai.com'],
  [{ url: 'http://user:password@example.com' }, 'url must be a URL'],
  [{ url: 'https://example.com?key=1' }, 'url must be a URL'],
  [{ url: 'https://example.com', key: 'two\nlines' }, 'key must have 1 to 4000 printable ASCII characters'],
  [{ url: 'https://example.com', roles: { smart: 'x' } }, 'roles has a name "smart"'],
  [{ url: 'https://example.com', models: [{}] }, 'models[0].name is missing'],
  [{ url: 'https://example.com', rate: 0 }, 'rate must not be less than 1'],
])('refuses the settings %j', async (settings, message) => {
  const { status, json } = await put('local', settings);

  expect(status).toBe(400);
  expect(json.message).toContain(message);
});

it('lets operators change a provider whose name the configuration has got since', async () => {
  await put('local', { url: upstream.url });
  const { configured: ofConfiguration } = api.apps.at(-1)!.get(KnownProvidersService, { strict: false });
  const [provider] = ofConfiguration;
  ofConfiguration.push({ ...provider!, name: 'local' });

  expect((await list()).map(({ name }) => name)).toEqual(['local', 'default']);
  expect((await operate('DELETE', '/local')).status).toBe(200);
  expect((await list()).map(({ name, source }) => [name, source])).toEqual([
    ['default', 'configuration'],
    ['local', 'configuration'],
  ]);
  ofConfiguration.pop();
});

it('shows failures of embeddings', async () => {
  const { bot } = await account.client.createBot({});
  const headers = { authorization: `Bearer ${account.token}`, 'x-bot-id': bot.id };
  await put('local', { url: upstream.url, models: [{ name: 'e5' }] });
  upstream.answer = failWith(500);
  await api.send('POST /v1/ai/embeddings', { headers, json: { model: 'e5', input: 'hi' } });

  expect((await list())[0]).toMatchObject({ state: 'failing', lastError: expect.stringContaining('answered 500') });
});

it('refuses a name with other characters', async () => {
  const { status, json } = await put('My:server', { url: upstream.url });

  expect({ status, message: json.message }).toMatchObject({
    status: 400,
    message: expect.stringContaining('name must match'),
  });
});

it('tests a provider: what it lists, which models it lacks, or why it does not answer', async () => {
  await put('local', { url: upstream.url, models: [{ name: 'small' }, { name: 'mine', upstream: 'gone' }] });
  await put('closed', { url: 'http://127.0.0.1:1' });

  expect((await operate('POST', '/local/test', {})).json).toEqual({
    ...{ models: ['small', 'large'], missing: ['gone'], latencyMs: expect.any(Number) },
  });
  expect((await operate('POST', '/closed/test', {})).json).toMatchObject({
    error: 'The provider "closed" cannot be reached or broke off (ECONNREFUSED).',
  });
  expect(await list()).toMatchObject([
    { name: 'local', state: 'reachable', foundModels: ['small', 'large'] },
    { name: 'closed', state: 'failing', failingSince: expect.any(String), lastErrorAt: expect.any(String) },
    { name: 'default' },
  ]);
  expect((await operate('POST', '/none/test', {})).status).toBe(404);
});

it('takes at most 1,000 names of a server, and none that is too long', async () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `m${index}`);
  const large = await ModelServer.start(['n'.repeat(201), ...names]);
  await put('large', { url: large.url });

  const { models } = (await operate('POST', '/large/test', {})).json;

  expect(models).toEqual(names.slice(0, 1_000));
  await large.stop();
});

it('reports a list of models without an end as an error', async () => {
  let sent = 0;
  const endless = createServer((_request, response) => {
    const more = () => {
      while (!response.destroyed && response.write('{"data":['.padEnd(65_536))) sent += 65_536;
    };
    response.on('drain', more);
    more();
  });
  await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve));
  await put('endless', { url: `http://127.0.0.1:${(endless.address() as AddressInfo).port}` });

  const { error } = (await operate('POST', '/endless/test', {})).json;

  expect(error).toBe('The provider "endless" answered with more than 4000000 characters.');
  expect(sent).toBeLessThan(40_000_000);
  await new Promise((resolve) => endless.close(resolve));
});

it('shows since when a provider fails, and that it answers again', async () => {
  const generate = await newBot();
  await put('local', { url: upstream.url, key });
  upstream.answer = failWith(500, { message: `broken, ${key}` });
  await generate();

  const [failing] = await list();
  expect(failing).toMatchObject({
    state: 'failing',
    lastError: 'The provider "local" answered 500: broken, ***.',
  });
  await generate({ model: 'local:small' });
  expect((await list())[0]!['failingSince']).toBe(failing!['failingSince']);

  // One that failed is asked after the others.
  ofVariables.answer = failWith(500);
  upstream.answer = answerWith('hello');
  await generate({ model: 'local:small' });
  expect((await list())[0]).toMatchObject({ state: 'reachable', failingSince: null, lastError: failing!['lastError'] });
});

it('asks a provider that has failed again once its settings have changed', async () => {
  const generate = await newBot();
  await put('local', { url: upstream.url, key: 'wrong' });
  upstream.answer = (request, response) =>
    (request.headers.authorization === `Bearer ${key}` ? answerWith('hello') : failWith(401))(request, response);
  expect((await generate()).json.metadata.provider).toBe('default');

  await put('local', { url: upstream.url, key });

  expect((await generate()).json.metadata.provider).toBe('local');
});

it('reaches other processes within seconds', async () => {
  const config = Object.assign(new ModelsConfig(), { secretKey: api.settings.secretKey });
  const second = await startServiceOn(api.databaseUrl, (databaseUrl, platform) =>
    ModelsModule.register(Object.assign(config, { databaseUrl }), platform),
  );
  try {
    const known = second.apps[0]!.get(KnownProvidersService, { strict: false });
    expect(await known.list()).toEqual([]);

    await put('local', { url: upstream.url, key });

    const seen = await waitFor(
      () => known.list(),
      (providers) => providers.length > 0,
    );
    expect(seen).toMatchObject([{ name: 'local', url: upstream.url, key }]);
    expect((await known.list())[0]).toBe(seen[0]);
  } finally {
    await second.stop();
  }
});

it('lets operators only see and change providers', async () => {
  const headers = { authorization: `Bearer ${account.token}` };

  for (const line of [
    `GET ${path}`,
    `PUT ${path}/local`,
    `DELETE ${path}/local`,
    `POST ${path}/order`,
    `POST ${path}/local/test`,
  ])
    expect(
      (
        await api.send(line, {
          headers,
          json: line.startsWith('GET') ? undefined : { url: upstream.url, names: ['x'] },
        })
      ).status,
    ).toBe(403);
  expect((await list()).map(({ name }) => name)).toEqual(['default']);
});
