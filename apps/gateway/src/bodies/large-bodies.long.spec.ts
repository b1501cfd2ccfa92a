import { connect } from 'node:net';
import { withCode } from '@parley/contracts/code';
import type { Platform } from '@parley/service/platform';
import {
  type Account,
  type AdminSettings,
  type TestResponse,
  type PublicApi,
  type SendOptions,
  startPublicApi,
} from '@parley/testing/public-api';
import { childPids } from '@parley/testing/child-pids';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { metricValue } from '@parley/testing/metric-value';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { ChatModule } from '../../../chat/src/chat.module';
import { HubModule } from '../../../hub/src/hub.module';
import { unauthenticatedTimeoutMs } from '../forwarding/body-parser';
import { GatewayModule } from '../gateway.module';

let api: PublicApi;
let alice: Account;
let botId: string;
let webhookId: string;

beforeAll(async () => {
  const chat = {
    register: (config: AdminSettings, platform: Platform) =>
      ChatModule.register({ ...config, sweepIntervalMs: 100, listTimeoutMs: 5_000 }, platform),
  };
  api = await startPublicApi(GatewayModule, AdminModule, HubModule, chat);
  alice = await api.newAccount();
  const { bot } = await alice.client.createBot({});
  botId = bot.id;
  webhookId = Object.values((await alice.client.getBot({ id: botId })).bot.integrations)[0]!.webhookId;
});

afterAll(() => api?.stop());

const json = { 'content-type': 'application/json' };

function update(options: SendOptions): Promise<TestResponse> {
  const own = { authorization: `Bearer ${alice.token}`, 'x-workspace-id': alice.workspaceId };
  return api.send(`PUT /v1/admin/bots/${botId}`, { ...options, headers: { ...own, ...options.headers } });
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `"${index}":1`).join(',');

function openSilent(line: string, headers = ''): { status: Promise<string | undefined>; leave: () => void } {
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  const status = new Promise<string | undefined>((resolve) => {
    socket.once('data', (data: Buffer) => resolve(data.toString('latin1', 9, 12)));
    socket.on('error', () => resolve(undefined)).on('close', () => resolve(undefined));
  });
  socket.write(
    `${line} HTTP/1.1\r\nhost: test\r\n${headers}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n`,
  );
  return { status, leave: () => socket.destroy() };
}

describe('A large body', () => {
  const program = 'const a = "ä😀";\n';

  it.each([2, 24])('receives a body of %d MB as it was sent', async (megabytes) => {
    const code = program.repeat(Math.floor((megabytes * 1_000_000) / Buffer.byteLength(program)));

    expect((await update({ json: { code, description: 'large', __proto__: 'x' } })).status).toBe(200);

    const { versions } = await alice.client.listBotVersions({ id: botId });
    const { url } = await alice.client.getBotVersion({ id: botId, versionId: versions[0]!.id });
    expect((await (await fetch(url.replace(/^https?:\/\/[^/]+/, api.url))).text()) === code).toBe(true);
    expect((await alice.client.getBot({ id: botId })).bot.description).toBe('large');
  });

  it('creates a bot with its code from a large body', async () => {
    const { bot } = await alice.client.createBot({ code: 'x'.repeat(3_000_000) });

    const { versions } = await alice.client.listBotVersions({ id: bot.id });
    expect(versions).toHaveLength(1);
  });

  it('rejects a large body with the name of the field and its limit', async () => {
    const code = 'x'.repeat(25_000_001);

    expect(await update({ json: { code } })).toMatchObject({
      status: 400,
      json: { type: 'InvalidPayload', message: 'code must be at most 25000000 bytes.' },
    });
    expect(await update({ json: { code: 'x'.repeat(withCode.bodyLimitBytes) } })).toMatchObject({
      status: 413,
      json: {
        type: 'PayloadTooLarge',
        message: `The body is too large: this operation takes at most ${withCode.bodyLimitBytes} bytes; the field code may have at most 25000000 bytes.`,
      },
    });
  });

  it.each([
    ['no JSON', `{"code":"${'x'.repeat(2_000_000)}"`, /The body is not valid JSON/],
    ['no object', `["${'x'.repeat(2_000_000)}"]`, /The body must be a JSON object/],
    ['wrong', JSON.stringify({ code: 'x'.repeat(2_000_000), url: 5 }), /url must be/],
  ])('returns for a large body with %s the same error as for a small one', async (_what, body, message) => {
    expect(await update({ headers: json, body })).toMatchObject({
      status: 400,
      json: { type: 'InvalidPayload', message: expect.stringMatching(message) as string },
    });
  });

  it.each<[string, Record<string, string>]>([
    ['an announced', {}],
    ['an unknown', { 'transfer-encoding': 'chunked' }],
  ])('parses a large body of %s length outside the event loop of the gateway', async (_length, headers) => {
    const parse = jest.spyOn(JSON, 'parse');

    const { status } = await update({ headers, json: { code: 'x'.repeat(2_000_000), url: 5 } });

    expect(status).toBe(400);
    expect(Math.max(...parse.mock.calls.map(([text]) => text.length))).toBeLessThan(100_000);
    parse.mockRestore();
  });

  it.each([900_000, 1_900_000])('rejects a body of %d bytes of {} for its number of values', async (size) => {
    const body = `{"tags":[${'{},'.repeat(size / 3)}{}]}`;
    const headers = { ...json, authorization: `Bearer ${alice.token}`, 'x-bot-id': botId };

    expect(await api.send('POST /v1/chat/users', { headers, body })).toMatchObject({
      status: 413,
      json: { type: 'PayloadTooLarge', message: expect.stringContaining('100000 JSON values') as string },
    });
  });

  it.each([
    [
      '{}',
      (n: number) => `[${'{},'.repeat(n)}1]`,
      413,
      '1000000 JSON lists, objects and fields, and it has at least 6',
    ],
    [
      'lists that are not closed',
      (n: number) => '['.repeat(3 * n),
      413,
      '10000000 JSON values, and it has at least 19',
    ],
    [
      'distinct names',
      (n: number) => `{${names(n / 3)}}`,
      413,
      'JSON lists, objects and fields, and it has at least 2',
    ],
    ['deep lists', () => `${'['.repeat(900_000)}${']'.repeat(900_000)}`, 400, 'version must be a string'],
  ])('survives a large body of %s without failing requests of others', async (_what, value, status, message) => {
    const headers = { ...json, authorization: `Bearer ${alice.token}`, 'x-workspace-id': alice.workspaceId };
    const hostile = api.send('POST /v1/admin/integrations', {
      headers,
      body: `{"name":"x","version":7,"zzz":${value(6_500_000)}}`,
    });

    expect((await alice.client.getBot({ id: botId })).bot.id).toBe(botId);
    expect(await hostile).toMatchObject({ status, json: { message: expect.stringContaining(message) as string } });
    expect(await update({ json: { description: 'still there' } })).toMatchObject({ status: 200 });
  });

  it('returns 503 with Retry-After and stores nothing if the child process of a body is killed', async () => {
    const before = (await alice.client.getBot({ id: botId })).bot.updatedAt;
    const sent = update({ json: { code: 'x'.repeat(24_000_000), description: 'killed' } });
    let isAnswered = false;
    void sent.finally(() => (isAnswered = true));

    await waitFor(() => {
      for (const pid of childPids('large-body.child')) process.kill(pid, 'SIGKILL');
      return isAnswered;
    });

    expect(await sent).toMatchObject({ status: 503, json: { type: 'Internal' } });
    expect((await sent).headers['retry-after']).toBe('1');
    expect((await alice.client.getBot({ id: botId })).bot.updatedAt).toBe(before);
    expect(await update({ json: { code: 'x'.repeat(2_000_000) } })).toMatchObject({ status: 200 });
  });

  it('accepts more values in fields that are dropped', async () => {
    const body = `{"name":"Ann","implementation":{"type":"Buffer","data":[${'1,'.repeat(400_000)}1]}}`;

    expect(await update({ headers: json, body })).toMatchObject({ status: 200 });
  });
});

describe('Clients without a credential', () => {
  const users = () => `POST /chat/${webhookId}/users`;

  afterEach(realClock);

  it('accepts up to 100 kB from clients without a credential', async () => {
    const body = `{"a":[${'{},'.repeat(34_000)}{}]}`;

    expect(await api.send(users(), { headers: json, body })).toMatchObject({
      status: 413,
      json: { type: 'PayloadTooLarge', message: expect.stringContaining('100000 bytes') as string },
    });
  });

  it('serves others during a thousand idle uploads of clients without a credential', async () => {
    const silent = Array.from({ length: 1_000 }, () => openSilent(users()));

    const ofVisitor = await api.send(users(), { json: {} });
    const known = await Promise.all(Array.from({ length: 20 }, () => update({ json: { description: 'still there' } })));
    const large = await update({ json: { code: 'x'.repeat(3_000_000) } });

    expect(ofVisitor.status).toBe(201);
    expect(new Set(known.map(({ status }) => status))).toEqual(new Set([200]));
    expect(large.status).toBe(200);
    silent.forEach(({ leave }) => leave());
  });

  it('gives clients without a credential five seconds to send a body', async () => {
    // Requests of the test before would set timers too.
    await waitFor(
      async () => metricValue((await api.send('GET /metrics')).text, 'parley_under_way{place="gateway"}'),
      (underWay) => underWay === 0,
    );
    fakeClock('setTimeout', 'clearTimeout');
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const silent = openSilent(users());
    await waitFor(() => timers.mock.calls.some(([, ms]) => ms === unauthenticatedTimeoutMs));

    jest.advanceTimersByTime(unauthenticatedTimeoutMs);

    expect(await silent.status).toBeUndefined();
  });

  it('rejects an unknown user key before the body is read', async () => {
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname);
    const answer = new Promise<string>((resolve) => socket.once('data', (data: Buffer) => resolve(data.toString())));
    socket.write(
      `POST /chat/${webhookId}/messages HTTP/1.1\r\nhost: test\r\nx-user-key: nobody\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
    );

    expect(await answer).toMatch(/^HTTP\/1.1 401 /);
    socket.destroy();
  });
});

describe('The path of an unknown chat endpoint', () => {
  const bodies: [string, SendOptions][] = [
    ['a good body', { json: { payload: { type: 'text', text: 'a' }, conversationId: 'x' } }],
    ['an invalid body', { json: { payload: 5 } }],
    ['no body', {}],
    ['no JSON', { headers: json, body: '{' }],
    ['another type', { headers: { 'content-type': 'text/plain' }, body: 'a' }],
    ['a body that is too large', { headers: json, body: `{"a":"${'x'.repeat(3_000_000)}"}` }],
    ['a bad idempotency key', { headers: { ...json, 'idempotency-key': '' }, body: '{}' }],
  ];

  it.each(['users', 'messages'])('returns 404 for an unknown chat API before the body of %s is sent', async (path) => {
    const silent = openSilent(`POST /chat/webhook_none/${path}`, 'x-user-key: any\r\n');

    expect(await silent.status).toBe('404');
    silent.leave();
  });

  it.each(bodies)('returns 404 for an unknown chat API with a user key and %s', async (_what, options) => {
    for (const id of ['webhook_none', 'a%00b', 'x'.repeat(2_000)]) {
      const headers = { 'x-user-key': 'any', ...options.headers };

      for (const path of ['messages', 'users', 'conversations'])
        expect(await api.send(`POST /chat/${id}/${path}`, { ...options, headers })).toMatchObject({
          status: 404,
          json: { type: 'ResourceNotFound' },
        });
    }
  });

  it('returns other errors for a wrong key or body when the chat API exists', async () => {
    const { user, key } = (await api.send(`POST /chat/${webhookId}/users`, { json: {} })).json as {
      user: { id: string };
      key: string;
    };
    const send = (userKey: string, body: object) =>
      api.send(`POST /chat/${webhookId}/messages`, { headers: { 'x-user-key': userKey }, json: body });

    expect(user.id).toBeDefined();
    expect(await send('any', { payload: 5 })).toMatchObject({ status: 401 });
    expect(await send(key, { payload: 5 })).toMatchObject({ status: 400 });
    expect(await send(key, { payload: { type: 'text', text: 'a' }, conversationId: 'none' })).toMatchObject({
      status: 404,
    });
  });
});
