import type { ServerResponse } from 'node:http';
import { answerWith, ModelServer } from '@parley/testing/model-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { ModelsConfig } from '../config';
import { ModelsModule } from '../models.module';
import { ProviderLimitsService } from './provider-limits.service';
import { ProviderStatesRepository } from './provider-states.repository';
import { toProvider } from './provider-settings';

let api: PublicApi;
let account: Account;
let upstream: ModelServer;
let other: ModelServer;

beforeAll(async () => {
  [upstream, other] = await Promise.all([ModelServer.start(['small']), ModelServer.start(['other'])]);
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ModelsModule, ModelsConfig, { completionsUrl: other.url, completionsCacheSeconds: 0 }),
  );
  account = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  await upstream?.stop();
  await other?.stop();
});

beforeEach(() => {
  for (const server of [upstream, other]) {
    server.requests.length = 0;
    server.answer = answerWith('hello');
  }
});

async function set(name: string, settings: object) {
  const headers = { authorization: `Bearer ${api.operatorToken}` };
  const { providers } = (await api.send('GET /operator/models/providers', { headers })).json as {
    providers: { name: string; source: string }[];
  };
  for (const provider of providers)
    if (provider.source === 'operator')
      await api.send(`DELETE /operator/models/providers/${provider.name}`, { headers });
  await api.send(`PUT /operator/models/providers/${name}`, { headers, json: { url: upstream.url, ...settings } });
}

async function newBot() {
  const { bot } = await account.client.createBot({});
  const headers = { authorization: `Bearer ${account.token}`, 'x-bot-id': bot.id };
  const send = async (path: string, json: object) => api.send(`POST ${path}`, { headers, json });
  return {
    generate: async (json: object = {}) =>
      (await send('/v2/cognitive/generate-text', { messages: [{ role: 'user', content: 'hi' }], ...json })).json,
    embed: async (model: string) => send('/v1/ai/embeddings', { model, input: 'hi' }),
  };
}

/** Keeps the calls under way until `release`. */
function holdCalls() {
  const held: (() => void)[] = [];
  upstream.answer = (request, response: ServerResponse) =>
    void held.push(() => void answerWith('late')(request, response));
  return { held, release: () => held.forEach((answer) => answer()) };
}

it('asks the next provider when all slots of the first stay taken for the time limit of the call', async () => {
  const bot = await newBot();
  await set('narrow', { concurrency: 1 });
  const { held, release } = holdCalls();
  const first = bot.generate();
  await waitFor(() => held.length === 1);

  const { metadata } = await bot.generate({ options: { maxTimeToFirstToken: 1_000 } });

  expect(metadata).toMatchObject({ provider: 'default', fallbackPath: ['narrow:small'] });
  expect(metadata.warnings[0].message).toContain('All slots of the provider "narrow" (1) were taken for 1000 ms.');
  release();
  expect((await first).metadata.provider).toBe('narrow');
  upstream.answer = answerWith('hello');
  expect((await bot.generate()).metadata.provider).toBe('narrow');
});

it('waits for a slot within the time limit', async () => {
  const bot = await newBot();
  await set('waiting', { concurrency: 1 });
  const { held, release } = holdCalls();
  const calls = Promise.all([bot.generate(), bot.generate()]);
  await waitFor(() => held.length === 1);

  upstream.answer = answerWith('hello');
  release();

  expect((await calls).map(({ metadata }) => metadata.provider)).toEqual(['waiting', 'waiting']);
  expect(other.requests).toEqual([]);
});

it('lets no more calls of a minute through than the rate, however many arrive at once', async () => {
  const bot = await newBot();
  await set('metered', { rate: 2, timeoutMs: 5_000 });

  const answers = await Promise.all(Array.from({ length: 30 }, () => bot.generate()));

  const providers = answers.map(({ metadata }) => metadata.provider);
  // The next call would begin half a minute later.
  expect(providers.filter((name) => name === 'metered')).toHaveLength(1);
  expect(providers.filter((name) => name === 'default')).toHaveLength(29);
  expect(upstream.requests).toHaveLength(1);
  const { fallbackPath, warnings } = answers.find(({ metadata }) => metadata.provider === 'default').metadata;
  expect(fallbackPath).toEqual(['metered:small']);
  expect(warnings[0].message).toContain('The rate of the provider "metered" is used up: 2 requests a minute.');
});

it('does not count a provider as failing because of its own limits', async () => {
  const bot = await newBot();
  await set('used-up', { rate: 1, timeoutMs: 5_000 });
  await bot.generate();
  await bot.generate();

  const headers = { authorization: `Bearer ${api.operatorToken}` };
  const [state] = (await api.send('GET /operator/models/providers', { headers })).json.providers;
  expect(state).toMatchObject({ name: 'used-up', state: 'reachable', lastError: null });
});

it('spreads the calls of a minute, so that no minute has more than the rate', async () => {
  const states = api.apps.at(-1)!.get(ProviderStatesRepository, { strict: false });
  const limits = new ProviderLimitsService(states);
  const rate = 40;
  const waits: number[] = [];
  const take = states.takeCall.bind(states);
  const taking = jest.spyOn(states, 'takeCall').mockImplementation(async (name, given) => {
    const wait = await take(name, given);
    if (wait !== undefined) waits.push(wait);
    return 0;
  });
  const provider = toProvider({ url: upstream.url, rate }, { name: 'spread', timeoutMs: 1_000 });

  const leaves = await Promise.all(
    Array.from({ length: 130 }, () =>
      limits.enter(provider, 'bot', { signal: new AbortController().signal, withinMs: 600_000 }),
    ),
  );

  leaves.forEach((leave) => leave());
  taking.mockRestore();
  // Begin of each call after the first one: all of them were asked for at nearly the same time.
  waits.sort((one, other) => one - other);
  const mostInAMinute = waits.map((from) => waits.filter((wait) => wait >= from && wait < from + 59_000).length);
  expect(waits).toHaveLength(130);
  expect(Math.max(...mostInAMinute)).toBeLessThanOrEqual(rate);
  expect(waits.at(-1)).toBeLessThan((130 / rate) * 60_000 * 1.2);
});

it('shares the rate between processes', async () => {
  const states = api.apps.at(-1)!.get(ProviderStatesRepository, { strict: false });
  const processes = [new ProviderLimitsService(states), new ProviderLimitsService(states)];
  const provider = toProvider({ url: upstream.url, rate: 10 }, { name: 'shared', timeoutMs: 1_000 });
  const enter = (limits: ProviderLimitsService) =>
    limits.enter({ ...provider }, 'bot', { signal: new AbortController().signal, withinMs: 1 });

  const entered = await Promise.allSettled(processes.map(enter));

  expect(entered.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

it('ends the wait for a rate with its call', async () => {
  const limits = api.apps.at(-1)!.get(ProviderLimitsService, { strict: false });
  const provider = toProvider({ url: upstream.url, rate: 1 }, { name: 'left', timeoutMs: 1_000 });
  const call = new AbortController();
  const enter = () => limits.enter(provider, 'bot', { signal: call.signal, withinMs: 100_000 });
  await enter();
  const waiting = enter();
  const ended = expect(waiting).rejects.toThrow('The client has gone.');

  call.abort(new Error('The client has gone.'));

  await ended;
});

it('limits embeddings as well', async () => {
  const bot = await newBot();
  await set('vectors', { rate: 1, timeoutMs: 5_000, models: [{ name: 'e5' }] });
  upstream.answer = (_request, response) =>
    void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 1 } }));

  expect((await bot.embed('e5')).status).toBe(200);
  const refused = await bot.embed('e5');

  expect(refused.status).toBe(503);
  expect(refused.text).toContain('The rate of the provider');
});
