import { createServer, get, type IncomingMessage, request } from 'node:http';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import type { Client } from '@botpress/client';
import { strictDeployHeader } from '@parley/contracts/code';
import { warningHeader } from '@parley/contracts/warning';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { freePort } from '@parley/testing/free-port';
import { json, LoopbackServer } from '@parley/testing/loopback-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { AdminModule } from '../../admin/src/admin.module';
import { AdminConfig } from '../../admin/src/config';
import { ChatConfig } from '../../chat/src/config';
import { ChatModule } from '../../chat/src/chat.module';
import type { GatewayConfig } from '../../gateway/src/config';
import { GatewayModule } from '../../gateway/src/gateway.module';
import { HubModule } from '../../hub/src/hub.module';
import { RuntimeConfig } from '../../runtime/src/config';
import { RuntimeModule } from '../../runtime/src/runtime.module';
import { RunnerConfig } from './config';
import { RunnerModule } from './runner.module';

const webhookHost = 'hooks.test';
const webhooksPerInstallation = 4;

let api: PublicApi;
let account: Account;
/** Hears what integrations do, and passes their calls of the API on. */
let witness: LoopbackServer;

const gateway = {
  register: (config: GatewayConfig, platform: Platform) =>
    GatewayModule.register({ ...config, webhookUrl: `http://${webhookHost}` }, platform),
};

beforeAll(async () => {
  const port = await freePort();
  witness = await LoopbackServer.start(async (request, response) => {
    if (!request.path.startsWith('/v1/')) return json({})(request, response);
    const names = ['authorization', 'x-bot-id', 'x-integration-id', 'x-integration-alias'];
    const headers = Object.fromEntries(names.map((name) => [name, String(request.headers[name] ?? '')]));
    const answer = await api.send(`${request.method} ${request.path}`, { headers, json: request.body as object });
    return json(answer.json, answer.status)(request, response);
  });
  api = await startPublicApi(
    gateway,
    configured(AdminModule, AdminConfig),
    HubModule,
    configured(ChatModule, ChatConfig, { sweepIntervalMs: 100 }),
    configured(RuntimeModule, RuntimeConfig, { webhooksPerInstallation }),
    configured(RunnerModule, RunnerConfig, {
      ...{ publicUrl: `http://127.0.0.1:${port}`, contentUrl: witness.url, processes: 8, memoryMb: 96 },
      isolation: 'process',
    }),
  );
  account = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  await witness?.close();
});

/** The client does not know these operations. */
type Definition = Parameters<Client['createIntegration']>[0] & {
  extraOperations?: Record<string, { enabled: boolean }>;
};

/**
 * Integration that tells the witness of each call, and follows its configuration: `answers` by operation, and `calls` of
 * the API that it makes first.
 */
const code = () => `
  const api = (path, body, headers) => fetch('${witness.url}' + path, { method: 'POST', headers: {
    authorization: 'Bearer ' + process.env.BP_TOKEN, 'x-bot-id': headers['x-bot-id'],
    'x-integration-id': headers['x-integration-id'], 'x-integration-alias': headers['x-integration-alias'],
    'content-type': 'application/json' }, body: JSON.stringify(body) });
  exports.handler = async ({ headers, body }) => {
    const operation = headers['x-bp-operation'];
    const configuration = JSON.parse(Buffer.from(headers['x-bp-configuration'], 'base64').toString());
    const made = [];
    for (const [path, input] of configuration.calls?.[operation] ?? []) {
      const answer = await api(path, input, headers);
      made.push({ status: answer.status, body: await answer.json() });
    }
    await fetch('${witness.url}/calls', { method: 'POST', body: JSON.stringify({ operation, headers, configuration,
      body: body && JSON.parse(body), made, secret: process.env.SECRET_KEY, webhookUrl: process.env.BP_WEBHOOK_URL }) });
    const answer = configuration.answers?.[operation] ?? { status: 200 };
    return { ...answer, body: answer.body === undefined ? undefined : JSON.stringify(answer.body) };
  };`;

interface Call {
  operation: string;
  headers: Record<string, string>;
  configuration: Record<string, unknown>;
  body: Record<string, unknown>;
  made: { status: number; body: unknown }[];
  secret?: string;
  webhookUrl?: string;
}

const configureCall = ['/v1/chat/integrations/configure', { identifier: null }];

const number = { schema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } };
const channel = {
  messages: { text: { schema: {} } },
  conversation: { tags: { room: {} } },
  message: { tags: { id: {} } },
};

let count = 0;
let shared: ReturnType<typeof newIntegration> | undefined;

/** One integration, and so one process, for all tests that need no definition of their own. */
function sharedIntegration() {
  return (shared ??= newIntegration({
    configurations: { alt: { schema: { type: 'object', properties: {} } } },
    actions: { double: { input: number, output: number } },
    events: { pinged: { schema: {} } },
    channels: { channel, other: channel },
    user: { tags: { name: {} } },
    extraOperations: { message_updated: { enabled: true }, conversation_updated: { enabled: true } },
  }));
}

async function newIntegration(definition: Partial<Definition> = {}) {
  const name = definition.name ?? `probe${(count += 1)}`;
  const json = {
    ...{ name, version: '1.0.0', code: code(), secrets: { KEY: 'k' } },
    configuration: { schema: { type: 'object', properties: {}, additionalProperties: true } },
    ...definition,
  };
  const headers = { authorization: `Bearer ${account.token}`, 'x-workspace-id': account.workspaceId };
  const response = await api.send('POST /v1/admin/integrations', { headers, json });
  if (response.status !== 201 && response.status !== 200) throw response.json;
  return response.json.integration as Awaited<ReturnType<Client['createIntegration']>>['integration'];
}

/** After the registration, which starts the process of the code: on a busy machine that takes longer. */
async function limitTime(id: string, maxExecutionTime = 1): Promise<void> {
  const headers = { authorization: `Bearer ${account.token}`, 'x-workspace-id': account.workspaceId };
  const response = await api.send(`PUT /v1/admin/integrations/${id}`, { headers, json: { maxExecutionTime } });
  if (response.status !== 200) throw response.json;
}

async function newBot() {
  const { bot } = await account.client.createBot({});
  const headers = {
    authorization: `Bearer ${account.token}`,
    'x-workspace-id': account.workspaceId,
    'x-multiple-integrations': 'true',
  };
  const update = async (integrations: object) => {
    const response = await api.send(`PUT /v1/admin/bots/${bot.id}`, { headers, json: { integrations } });
    if (response.status !== 200) throw response.json;
    return response.json.bot.integrations as Awaited<ReturnType<Client['getBot']>>['bot']['integrations'];
  };
  const get = async () => (await api.send(`GET /v1/admin/bots/${bot.id}`, { headers })).json.bot.integrations;
  const calls = () => callsOf(bot.id);
  return { id: bot.id, client: api.client(account.token, account.workspaceId, bot.id), update, get, calls };
}

function callsOf(botId: string): Call[] {
  return witness.requests
    .filter(({ path }) => path === '/calls')
    .map(({ bytes }) => JSON.parse(bytes.toString()) as Call)
    .filter(({ headers }) => headers['x-bot-id'] === botId);
}

const messageOf = async (response: Response) => ((await response.json()) as { message: string }).message;

/** Count of a metric of the runtime. */
async function counted(metric: string, outcome: string): Promise<number> {
  const { metrics } = api.apps[4]!.get<Platform>(platformToken, { strict: false });
  const text = await metrics.registry.metrics();
  return Number(new RegExp(`^${metric}\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}

const refusal = { status: 400, body: { id: 'err_1', code: 400, type: 'Runtime', message: 'The token is wrong.' } };

describe('code of an integration that cannot be loaded', () => {
  const broken = `throw new Error('no license')`;

  const headers = () => ({ authorization: `Bearer ${account.token}`, 'x-workspace-id': account.workspaceId });

  it('shows why an integration whose code cannot be loaded is not registered, and registers it once it can', async () => {
    const { id } = await newIntegration({ code: broken });
    const bot = await newBot();

    const { probe } = await bot.update({ probe: { integrationId: id } });
    await account.client.updateIntegration({ id, code: code() });

    const statusReason = expect.stringContaining('The code cannot be loaded: Error: no license');
    expect(probe).toMatchObject({ status: 'registration_failed', statusReason });
    await waitFor(bot.get, (shown) => shown.probe.status === 'registered');
  });

  it('deploys code of an integration that cannot be loaded with a warning, and refuses it if the call is strict', async () => {
    const { id, name } = await newIntegration();
    const json = { title: 'Renamed', code: broken };
    const strict = { headers: { ...headers(), [strictDeployHeader]: 'true' } };

    const refused = [
      await api.send(`PUT /v1/admin/integrations/${id}`, { ...strict, json }),
      await api.send('POST /v1/admin/integrations', { ...strict, json: { ...json, name, version: '2.0.0' } }),
    ];
    const { title: before } = (await account.client.getIntegration({ id })).integration;
    const stored = [
      await api.send(`PUT /v1/admin/integrations/${id}`, { headers: headers(), json }),
      await api.send('POST /v1/admin/integrations', { headers: headers(), json: { ...json, name, version: '2.0.0' } }),
    ];

    const message = expect.stringContaining('Error: no license');
    expect(refused).toMatchObject(Array(2).fill({ status: 400, json: { type: 'Runtime', message } }));
    expect(before).not.toBe('Renamed');
    expect(stored).toMatchObject(Array(2).fill({ status: 200, headers: { [warningHeader]: message } }));
    expect((await account.client.getIntegration({ id })).integration.title).toBe('Renamed');
  });
});

describe('the registration of an integration', () => {
  it('registers an integration before the update of the bot is answered, with all that the SDK reads', async () => {
    const integration = await sharedIntegration();
    const bot = await newBot();

    const { probe } = await bot.update({ probe: { integrationId: integration.id, configuration: { token: 't' } } });

    expect(probe).toMatchObject({ status: 'registered', statusReason: null });
    expect(bot.calls()).toMatchObject([
      {
        operation: 'register',
        headers: {
          'x-bot-id': bot.id,
          'x-bot-user-id': bot.id,
          'x-integration-id': integration.id,
          'x-integration-alias': 'probe',
          'x-webhook-id': probe!.webhookId,
          'x-bp-type': 'register',
          traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-/),
        },
        configuration: { token: 't' },
        body: { webhookUrl: probe!.webhookUrl },
        secret: 'k',
        webhookUrl: expect.stringMatching(/\/webhooks$/),
      },
    ]);
  });

  it('registers again for a changed configuration, and not for the same one', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();
    await bot.update({ probe: { integrationId: id, configuration: { a: 1 } } });

    await bot.update({ probe: { integrationId: id, configuration: { a: 1 } } });
    await bot.update({ probe: { configuration: { a: 2 } } });

    expect(bot.calls().map(({ operation, configuration }) => [operation, configuration])).toEqual([
      ['register', { a: 1 }],
      ['register', { a: 2 }],
    ]);
  });

  it('keeps the outcome of the latest configuration, although an earlier one registers meanwhile', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();
    const slow = { calls: { register: Array(50).fill(configureCall) } };
    const first = bot.update({ probe: { integrationId: id, configuration: slow } });
    await waitFor(() => witness.requests.some(({ headers }) => headers['x-bot-id'] === bot.id));

    const { probe } = await bot.update({ probe: { configuration: { answers: { register: refusal } } } });

    await first;
    expect(probe).toMatchObject({ status: 'registration_failed', statusReason: 'The token is wrong.' });
    expect(bot.calls().map(({ configuration }) => configuration)).toEqual([slow, { answers: { register: refusal } }]);
  });

  it('shows the reason of a failed registration, and repeats it by the next update', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();

    const { probe } = await bot.update({
      probe: { integrationId: id, configuration: { answers: { register: refusal } } },
    });
    expect(probe).toMatchObject({ status: 'registration_failed', statusReason: 'The token is wrong.' });

    const again = await bot.update({ probe: { configuration: {} } });
    expect(again['probe']).toMatchObject({ status: 'registered', statusReason: null });
  });

  it('registers several installations side by side, each with its own configuration type', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();

    const integrations = await bot.update({
      one: { integrationId: id },
      two: { integrationId: id, configurationType: 'alt', configuration: {} },
    });

    expect(integrations['one']!.status).toBe('registered');
    expect(integrations['two']!.status).toBe('registered');
    const types = bot
      .calls()
      .map(({ headers }) => [headers['x-integration-alias'], headers['x-bp-configuration-type']]);
    expect(types.sort()).toEqual([
      ['one', undefined],
      ['two', 'alt'],
    ]);
  });

  it('lets a registration call the API of its own installation, and set its identifier', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();
    const calls = { register: [['/v1/chat/integrations/configure', { identifier: 'team-1' }]] };

    const { probe } = await bot.update({ probe: { integrationId: id, configuration: { calls } } });

    expect(bot.calls()[0]!.made).toEqual([{ status: 200, body: {} }]);
    expect(probe).toMatchObject({ status: 'registered', identifier: 'team-1' });
  });

  it('refuses an identifier that another installation has, also in another workspace', async () => {
    const { id } = await sharedIntegration();
    const calls = { register: [['/v1/chat/integrations/configure', { identifier: 'team-2' }]] };
    await (await newBot()).update({ probe: { integrationId: id, configuration: { calls } } });
    const second = await newBot();

    await second.update({ probe: { integrationId: id, configuration: { calls } } });

    expect(second.calls()[0]!.made).toMatchObject([{ status: 409, body: { type: 'RelationConflict' } }]);
  });

  it('unregisters with the former configuration, and still accepts API requests meanwhile', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();
    const calls = { unregister: [['/v1/chat/integrations/configure', { identifier: null }]] };
    await bot.update({ probe: { integrationId: id, configuration: { token: 'old', calls } } });

    await bot.update({ probe: null });

    const [, end] = await waitFor(bot.calls, (all) => all.length === 2);
    expect(end).toMatchObject({ operation: 'unregister', configuration: { token: 'old' }, made: [{ status: 200 }] });
    expect(await bot.get()).not.toHaveProperty('probe');
  });

  it('unregisters a disabled installation, and that of a deleted bot', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();
    await bot.update({ probe: { integrationId: id } });

    await bot.update({ probe: { enabled: false } });
    await waitFor(bot.get, ({ probe }) => probe.status === 'unregistered');
    await bot.update({ probe: { enabled: true } });
    await account.client.deleteBot({ id: bot.id });

    const calls = await waitFor(bot.calls, (all) => all.length === 4);
    expect(calls.map(({ operation }) => operation)).toEqual(['register', 'unregister', 'register', 'unregister']);
  });

  it('repeats a registration after an error of the integration, until it succeeds', async () => {
    const attempts = 'globalThis.attempts = (globalThis.attempts ?? 0) + 1';
    const { id } = await newIntegration({
      code: `exports.handler = () => ({ status: (${attempts}) > 1 ? 200 : 500, body: '{"message":"starting"}' })`,
    });
    const bot = await newBot();

    const { probe } = await bot.update({ probe: { integrationId: id } });

    expect(probe).toMatchObject({ status: 'registration_failed', statusReason: expect.stringContaining('starting') });
    await waitFor(bot.get, ({ probe: later }) => later.status === 'registered', 20_000);
  });

  it('repeats a registration of an integration in development until its server listens', async () => {
    const port = await freePort();
    const { id } = await newIntegration({ url: `http://127.0.0.1:${port}/`, dev: true, code: undefined });
    const bot = await newBot();
    const updating = bot.update({ probe: { integrationId: id } });
    await waitFor(bot.get, ({ probe }) => probe?.status === 'registration_pending');
    const refused = () =>
      api.sql('SELECT FROM runtime.work WHERE tenant = $1 AND last_error IS NOT NULL', [bot.id]).then((r) => r.length);
    await waitFor(refused, (count) => count > 0);

    const server = createServer((_request, response) => response.end()).listen(port, '127.0.0.1');

    expect((await updating)['probe']).toMatchObject({ status: 'registered', statusReason: null });
    server.closeAllConnections();
    server.close();
  });

  it('ends a registration although the integration refuses, and shows the reason', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();
    await bot.update({ probe: { integrationId: id, configuration: { answers: { unregister: refusal } } } });
    const former = () => api.sql('SELECT FROM admin.former_installation WHERE bot_id = $1', [bot.id]);

    await bot.update({ probe: { enabled: false } });
    const { probe } = await waitFor(bot.get, (all) => all.probe.status !== 'unregistration_pending');
    expect(probe).toMatchObject({ status: 'unregistration_failed', statusReason: 'The token is wrong.' });
    await bot.update({ probe: { enabled: true } });
    await bot.update({ probe: null });

    await waitFor(former, ({ length }) => length === 0);
    expect(await bot.get()).not.toHaveProperty('probe');
  });

  it('forgets a registration after 24 hours if the integration cannot be unregistered', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();
    const answers = { unregister: { status: 500, body: { message: 'down' } } };
    await bot.update({ probe: { integrationId: id, configuration: { answers } } });
    await bot.update({ probe: null });
    await waitFor(bot.calls, (all) => all.length === 2);
    const former = () => api.sql('SELECT FROM admin.former_installation WHERE bot_id = $1', [bot.id]);
    expect(await former()).toHaveLength(1);

    await api.sql(
      `UPDATE admin.former_installation SET created_at = now() - interval '24 hours 1 second' WHERE bot_id = $1`,
      [bot.id],
    );
    api.apps[1]!.get(BackgroundTasks, { strict: false }).wake('admin.formerInstallations');

    await waitFor(former, ({ length }) => length === 0);
  });

  it('registers an installation that is disabled and enabled again after the end of the former one', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();
    const slow = { answers: { unregister: { status: 200 } }, calls: { unregister: Array(5).fill(configureCall) } };
    await bot.update({ probe: { integrationId: id, configuration: slow } });

    await bot.update({ probe: { enabled: false } });
    const again = await bot.update({ probe: { enabled: true } });

    expect(again['probe']!.status).toBe('registered');
    expect(bot.calls().map(({ operation }) => operation)).toEqual(['register', 'unregister', 'register']);
  });

  it('repeats a registration on demand of an operator', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();
    await bot.update({ probe: { integrationId: id } });

    const { json: reply } = await api.send(`POST /operator/admin/bots/${bot.id}/integrations/probe/register`, {
      headers: { authorization: `Bearer ${api.operatorToken}` },
      json: {},
    });

    expect(reply).toEqual({ status: 'registered', statusReason: null });
    expect(bot.calls()).toHaveLength(2);
  });

  it('repeats a registration on demand of a member who may change the bot, and of nobody else', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();
    await bot.update({ probe: { integrationId: id } });
    const stranger = await api.newAccount();
    const registerAs = (token: string) =>
      api.send(`POST /v1/admin/bots/${bot.id}/integrations/probe/register`, {
        headers: { authorization: `Bearer ${token}` },
        json: {},
      });

    const [byStranger, byOwner] = [await registerAs(stranger.token), await registerAs(account.token)];

    expect(byStranger.json).toMatchObject({ type: 'ResourceNotFound' });
    expect(byOwner.json).toEqual({ status: 'registered', statusReason: null });
    expect(bot.calls()).toHaveLength(2);
  });

  it('repeats a registration on the schedule that the integration sets', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();
    const calls = { register: [['/v1/chat/integrations/configure', { scheduleRegisterCall: 'daily' }]] };
    await bot.update({ probe: { integrationId: id, configuration: { calls } } });
    const hoursLeft = async () => {
      const [row] = await api.sql<{ hours: number }>(
        `SELECT extract(epoch FROM register_at - now())::float / 3600 AS hours FROM admin.installation WHERE bot_id = $1 AND alias = 'probe'`,
        [bot.id],
      );
      return row!.hours;
    };
    const setNext = async (time: string) => {
      const where = `WHERE bot_id = $1 AND alias = 'probe'`;
      await api.sql(`UPDATE admin.installation SET register_at = ${time} ${where}`, [bot.id]);
      api.apps[1]!.get(BackgroundTasks, { strict: false }).wake('admin.scheduledRegistrations');
    };
    expect(await hoursLeft()).toBeGreaterThan(23.9);

    await setNext('now()');
    await waitFor(bot.calls, (all) => all.length === 2);
    await waitFor(bot.get, ({ probe }) => probe.status === 'registered');

    // As after a clock that was two hours ahead.
    await setNext(`now() + interval '26 hours'`);
    await waitFor(hoursLeft, (hours) => hours < 24.1);
    expect(bot.calls()).toHaveLength(2);
  });
});

describe('an action of an integration', () => {
  const installed = async (answer: object, change: object = {}) => {
    const { id, name } = await sharedIntegration();
    const bot = await newBot();
    const configuration = { answers: { action_triggered: answer } };
    await bot.update({ probe: { integrationId: id, configuration, ...change } });
    const call = (n: unknown, type = 'probe:double') => bot.client.callAction({ type, input: { n } });
    return { ...bot, call, integrationName: name };
  };

  it('calls an action of an integration by its bare name, and returns its output', async () => {
    const bot = await installed({ status: 200, body: { output: { n: 2 }, meta: { cost: 7 } } });

    expect(await bot.call(1)).toEqual({ output: { n: 2 }, meta: { cached: false } });

    expect(bot.calls().at(-1)).toMatchObject({
      operation: 'action_triggered',
      body: { type: 'double', input: { n: 1 } },
      headers: { 'x-bp-type': 'double', 'x-integration-alias': 'probe' },
    });
    const { data } = await account.client.listActionRuns({ id: bot.id, integrationName: bot.integrationName });
    expect(data).toMatchObject([
      {
        actionType: 'probe:double',
        status: 'SUCCESS',
        integrationName: expect.stringMatching(/^probe/),
        output: { n: 2 },
      },
    ]);
  });

  it.each([
    ['a refusal of the integration', refusal, 'The token is wrong.'],
    ['an answer of another shape', { body: { output: { n: 'x' } } }, 'does not answer as it is defined'],
    ['an answer without an output', { body: {} }, 'without an output'],
    ['an error', { status: 500, body: { message: 'boom' } }, 'boom'],
  ])('ends an action of an integration with the reason after %s', async (_case, answer, message) => {
    const bot = await installed(answer);

    await expect(bot.call(1)).rejects.toMatchObject({ type: 'Runtime', message: expect.stringContaining(message) });
  });

  it('checks input of an action of an integration, and refuses unknown names and disabled installations', async () => {
    const bot = await installed({ body: { output: { n: 2 } } });

    await expect(bot.call('one')).rejects.toMatchObject({ type: 'InvalidPayload' });
    await expect(bot.call(1, 'probe:none')).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(bot.call(1, 'none:double')).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await bot.update({ probe: { configuration: { answers: { register: refusal } } } });
    await expect(bot.call(1)).rejects.toMatchObject({
      type: 'Runtime',
      message: 'The integration "probe" did not register: The token is wrong. Mend it, and update the bot.',
    });
    await bot.update({ probe: { enabled: false } });
    await expect(bot.call(1)).rejects.toMatchObject({
      type: 'Runtime',
      message: 'The integration "probe" is disabled in this bot: enable it to call its actions.',
    });
  });

  it('returns 504 for an action that hangs after the time limit of the integration', async () => {
    const { id } = await newIntegration({
      actions: { wait: { input: { schema: {} }, output: { schema: {} } } },
      code: `exports.handler = ({ headers }) => headers['x-bp-operation'] === 'register' ? { status: 200 } : new Promise(() => {});`,
    });
    const bot = await newBot();
    await bot.update({ probe: { integrationId: id } });
    await limitTime(id);

    await expect(bot.client.callAction({ type: 'probe:wait', input: {} })).rejects.toMatchObject({
      type: 'OperationTimeout',
    });
  });
});

it('repeats a call that waited behind one which blocked the process', async () => {
  const { id } = await newIntegration({
    actions: { block: { input: { schema: {} }, output: { schema: {} } } },
    code: `exports.handler = ({ headers, body }) => {
      if (headers['x-bp-operation'] === 'action_triggered' && JSON.parse(body).input.isEndless) for (;;);
      return { status: 200, body: '{"output":{"is":"done"}}' };
    };`,
  });
  const bot = await newBot();
  await bot.update({ probe: { integrationId: id } });
  // Enough to start another process, with the low priority of code, on a busy machine.
  await limitTime(id, 15);
  const call = (isEndless: boolean) => bot.client.callAction({ type: 'probe:block', input: { isEndless } });

  await expect(call(true)).rejects.toMatchObject({ type: 'OperationTimeout' });

  expect(await call(false)).toMatchObject({ output: { is: 'done' } });
});

it('pauses an integration whose processes keep ending: webhooks get 503, messages wait', async () => {
  const { id } = await newIntegration({
    actions: { crash: { input: { schema: {} }, output: { schema: {} } } },
    channels: { channel },
    code: `exports.handler = ({ headers }) => headers['x-bp-operation'] === 'action_triggered'
      ? new Promise(() => setTimeout(() => { throw new Error('boom'); }))
      : { status: 200 };`,
  });
  const [bot, other] = await Promise.all([newBot(), newBot()]);
  const { probe } = await bot.update({ probe: { integrationId: id } });
  const { conversation } = await bot.client.createConversation({
    ...{ channel: 'channel', integrationName: 'probe', tags: {} },
  });
  const crash = () =>
    bot.client.callAction({ type: 'probe:crash', input: {} }).then(
      () => '',
      (error: Error) => error.message,
    );
  await waitFor(crash, (problem) => problem.startsWith('The code pauses'));

  const answer = await fetch(`${api.url}/webhooks/${probe!.webhookId}`, { method: 'POST' });
  const { message } = await bot.client.createMessage({
    ...{ conversationId: conversation.id, userId: bot.id, type: 'text', payload: { text: 'hi' }, tags: {} },
  });
  const registered = await other.update({ probe: { integrationId: id } });

  expect(answer.status).toBe(503);
  expect(await messageOf(answer)).toContain('The code pauses');
  expect(registered['probe']).toMatchObject({ status: 'registered' });
  const [delivery] = await waitFor(
    () =>
      api.sql<{ status: string; attempts: object[] }>('SELECT * FROM runtime.message_delivery WHERE id = $1', [
        message.id,
      ]),
    ([row]) => row?.status === 'processed',
    15_000,
  );
  expect(delivery!.attempts).toMatchObject([{ status: 200 }]);
});

/** Status of a request whose body is never sent. */
function statusBeforeBody(path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sending = request(api.url + path, { method: 'POST', agent: false, headers: { 'content-length': 9_000_000 } });
    sending.once('response', ({ statusCode }) => {
      resolve(statusCode);
      sending.destroy();
    });
    sending.on('error', reject);
    sending.flushHeaders();
  });
}

const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00, 0xfe]);
const packers: [string, (bytes: Buffer) => Buffer][] = [
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['Deflate', deflateRawSync],
  ['br', (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
];

/** Answers the bytes of a webhook's body. */
const echo = `exports.handler = ({ headers, body }) => {
  if (headers['x-bp-operation'] !== 'webhook_received') return { status: 200 };
  const { req } = JSON.parse(body);
  const encoding = req.headers['x-bp-body-encoding'];
  const bytes = Buffer.from(req.body, encoding);
  const names = ['x-bp-body-encoding', 'content-encoding'];
  const received = JSON.stringify(Object.fromEntries(names.map((name) => [name, req.headers[name]])));
  return req.path === '/as-bytes'
    ? { headers: { 'x-received': received }, body: bytes }
    : { headers: { 'x-received': received, 'x-bp-body-encoding': 'base64' }, body: bytes.toString('base64') };
};`;

describe('a webhook', () => {
  const installed = async (answer: object = {}, definition?: Partial<Definition>) => {
    const { id } = await (definition ? newIntegration(definition) : sharedIntegration());
    const bot = await newBot();
    const configuration = { answers: { webhook_received: answer } };
    const { probe } = await bot.update({ probe: { integrationId: id, configuration } });
    const send = (path = '', init: RequestInit = {}) =>
      fetch(`${api.url}/webhooks/${probe!.webhookId}${path}`, { redirect: 'manual', ...init });
    return { ...bot, integrationId: id, webhookId: probe!.webhookId, send };
  };

  it('passes a webhook to the integration byte for byte, and returns its answer', async () => {
    const answer = { status: 201, headers: { 'X-Reply': 'yes', 'content-type': 'text/plain' }, body: 'thanks' };
    const bot = await installed(answer);
    const body = '\uFEFF{"text": "grüße \u0041 \\u0041",  "n":1.0}';
    const headers = { 'content-type': 'application/json', 'x-signature': 'abc' };

    const response = await bot.send('/events/a%20b?x=1&y=%C3%BC', { method: 'POST', headers, body });

    expect(response.status).toBe(201);
    expect(response.headers.get('x-reply')).toBe('yes');
    expect(await response.text()).toBe('"thanks"');
    expect(bot.calls().at(-1)).toMatchObject({
      operation: 'webhook_received',
      headers: { 'x-webhook-id': bot.webhookId },
      body: {
        req: {
          method: 'POST',
          path: '/events/a%20b',
          query: 'x=1&y=%C3%BC',
          headers: expect.objectContaining({ 'x-signature': 'abc', 'content-type': 'application/json' }),
          body,
        },
      },
    });
  });

  it('accepts any method of a webhook, and passes no body without one', async () => {
    const bot = await installed({ status: 204 });

    for (const method of ['GET', 'DELETE', 'PATCH', 'OPTIONS'])
      expect((await bot.send('', { method })).status).toBe(204);

    const requests = bot
      .calls()
      .slice(1)
      .map(({ body }) => body['req'] as Record<string, unknown>);
    expect(requests.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['GET', '/', undefined],
      ['DELETE', '/', undefined],
      ['PATCH', '/', undefined],
      ['OPTIONS', '/', undefined],
    ]);
  });

  it('keeps the answer of a webhook from acting on the origin of the platform', async () => {
    const kept = {
      ...{ 'Set-Cookie': 'a=b', 'service-worker-allowed': '/', 'clear-site-data': '"*"', 'X-BP-Secret': 's' },
      ...{ 'alt-svc': 'h2="evil.example:443"', 'accept-ch': 'sec-ch-ua-arch', 'critical-ch': 'sec-ch-ua-arch' },
      ...{ 'set-login': 'logged-in', 'activate-storage-access': 'load', 'use-as-dictionary': 'match="/*"' },
      ...{ 'public-key-pins': 'max-age=9', 'expect-ct': 'max-age=9', 'www-authenticate': 'Basic realm="Parley"' },
      ...{ 'access-control-allow-origin': '*', refresh: '0;url=https://evil.example', 'a-header-of-tomorrow': '1' },
      ...{ 'x-accel-redirect': '/internal', 'x-envoy-immediate-health-check-fail': 'true', 'x-error-id': 'forged' },
    };
    const replaced = {
      ...{ 'content-security-policy': 'default-src *', 'referrer-policy': 'unsafe-url' },
      ...{ 'x-content-type-options': 'sniff', 'x-request-id': 'forged' },
    };
    const bot = await installed({ status: 200, headers: { ...kept, ...replaced }, body: '<script>1</script>' });

    const response = await bot.send('', { headers: { origin: 'https://evil.example', 'x-request-id': 'req_mine' } });

    const relayed = Object.fromEntries(response.headers);
    expect(Object.keys(kept).filter((name) => name.toLowerCase() in relayed)).toEqual([]);
    expect(relayed).toMatchObject({
      ...{ 'content-security-policy': 'sandbox allow-forms allow-scripts', 'referrer-policy': 'no-referrer' },
      ...{ 'x-content-type-options': 'nosniff', 'x-request-id': 'req_mine' },
    });
  });

  it('relays headers of a webhook that senders and the page itself need', async () => {
    const headers = {
      ...{ 'content-type': 'text/xml; charset=utf-8', 'content-language': 'de', 'content-disposition': 'inline' },
      ...{ 'cache-control': 'max-age=60', etag: '"1"', 'last-modified': 'Mon, 01 Jan 2024 00:00:00 GMT' },
      ...{ expires: 'Mon, 01 Jan 2024 00:00:00 GMT', pragma: 'no-cache', vary: 'accept-language', allow: 'POST' },
      ...{ 'retry-after': '5', location: 'https://example.com/', 'x-frame-options': 'DENY' },
      // Handshakes and instructions: Asana, Slack, CloudEvents.
      ...{ 'x-hook-secret': 's', 'x-slack-no-retry': '1' },
      ...{ 'webhook-allowed-origin': 'eventgrid.azure.net', 'webhook-allowed-rate': '120' },
    };
    const bot = await installed({ status: 200, headers, body: '<Response/>' });

    expect(Object.fromEntries((await bot.send()).headers)).toMatchObject(headers);
  });

  it('serves webhooks on a host of their own without a path, with all headers but instructions to proxies', async () => {
    const headers = {
      ...{ 'set-cookie': 'a=b', 'content-security-policy': 'default-src *', 'content-type': 'text/html' },
      ...{ 'www-authenticate': 'Basic realm="Bot"', 'access-control-allow-origin': '*' },
    };
    const answer = { ...headers, 'X-Accel-Redirect': '/internal', 'x-sendfile': '/etc/passwd' };
    const bot = await installed({ status: 200, headers: answer, body: 'page' });
    const path = `/${bot.webhookId}/start`;

    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      get(`${api.url}${path}`, { headers: { host: webhookHost } }, resolve).on('error', reject),
    );
    response.resume();

    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({ ...headers, 'set-cookie': ['a=b'] });
    for (const name of ['x-content-type-options', 'x-accel-redirect', 'x-sendfile'])
      expect(response.headers).not.toHaveProperty(name);
    expect(bot.calls().at(-1)!.body['req']).toMatchObject({ path: '/start' });
    expect((await fetch(`${api.url}${path}`)).status).toBe(404);
  });

  it('finds a webhook by the state of an OAuth round trip, which ends on a page of the platform', async () => {
    const bot = await installed({ status: 200 });

    for (const path of ['/webhooks/oauth', '/webhooks/oauth/callback', '/oauth/wizard/start']) {
      const response = await fetch(`${api.url}${path}?code=c&state=${bot.webhookId}`);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(await response.text()).toContain('The integration is connected.');
    }

    const paths = bot
      .calls()
      .slice(1)
      .map(({ body }) => (body['req'] as { path: string }).path);
    expect(paths).toEqual(['/oauth', '/oauth/callback', '/oauth/wizard/start']);
  });

  it('shows why an OAuth round trip failed, escaped, and keeps pages and redirects of the integration', async () => {
    const failing = await installed({ status: 400, body: { message: '<b>denied</b>' } });
    const own = await installed({ status: 200, headers: { 'X-BP-Disable-Interstitial': 'true' }, body: 'mine' });
    const redirecting = await installed({ status: 303, headers: { location: 'https://example.com/' } });
    const open = (bot: { webhookId: string }) =>
      fetch(`${api.url}/webhooks/oauth?state=${bot.webhookId}`, { redirect: 'manual' });

    const failed = await open(failing);
    expect(failed.status).toBe(400);
    expect(await failed.text()).toContain('&lt;b&gt;denied&lt;/b&gt;');
    expect(await (await open(own)).text()).toBe('"mine"');
    const redirect = await open(redirecting);
    expect([redirect.status, redirect.headers.get('location')]).toEqual([303, 'https://example.com/']);
    const page = await fetch(`${api.url}/apps/oauth/interstitial?success=false&errorMessage=%3Cx%3E`);
    expect(await page.text()).toContain('&lt;x&gt;');
  });

  it.each([
    ['an unknown id', '/webhooks/webhook_none', {}, 404],
    ['no id', '/webhooks/', {}, 404],
    ['an OAuth request without a state', '/webhooks/oauth', {}, 404],
    ['an unknown state', '/oauth?state=none', {}, 404],
    ['an id with U+0000', '/webhooks/a%00b', {}, 404],
    ['a state with U+0000', '/oauth?state=%00', {}, 404],
    ['a shared webhook with U+0000', '/integration/global/%00/a', {}, 404],
  ])('answers a webhook with %s with an error', async (_case, path, init, status) => {
    expect((await fetch(`${api.url}${path}`, init)).status).toBe(status);
  });

  it('returns 404 for a webhook of a chat and its replays, with the URL of the chat in the error', async () => {
    const { bot } = await account.client.createBot({});
    const { webhookId, webhookUrl } = Object.values(bot.integrations)[0]!;
    const { logger } = api.apps[0]!.get<Platform>(platformToken, { strict: false });
    const errors = jest.spyOn(logger, 'error');

    for (const path of [`/webhooks/${webhookId}`, `/webhooks/${webhookId}/hello`, `/oauth?state=${webhookId}`]) {
      const response = await fetch(`${api.url}${path}`, { method: 'POST', body: '{}' });
      expect([response.status, await messageOf(response)]).toEqual([404, expect.stringContaining(webhookUrl)]);
    }
    const replay = await api.send(
      `POST /operator/runtime/bots/${bot.id}/integrations/chat/webhook-requests/webhookreq_1/replay`,
      { headers: { authorization: `Bearer ${api.operatorToken}` }, json: {} },
    );
    expect([replay.status, replay.json.message]).toEqual([
      404,
      'The webhook of the installation "chat" was not found.',
    ]);
    expect(errors).not.toHaveBeenCalled();
    errors.mockRestore();
  });

  it('passes webhook bodies that are no text as base64 and compressed ones unpacked, and returns bytes', async () => {
    const bot = await installed({}, { code: echo });
    const text = Buffer.from('{"text": "grüße",  "n":1.0}');
    const asBytes = '{"x-bp-body-encoding":"base64"}';
    const sent = async (body: Buffer, headers: Record<string, string> = {}, path = '') => {
      const response = await bot.send(path, { method: 'POST', body: new Uint8Array(body), headers });
      const received = response.headers.get('x-received');
      return [response.status, received, Buffer.from(await response.arrayBuffer()).toString('hex')];
    };

    expect(await sent(png)).toEqual([200, asBytes, png.toString('hex')]);
    expect(await sent(png, {}, '/as-bytes')).toEqual([200, asBytes, png.toString('hex')]);
    expect(await sent(text, { 'x-bp-body-encoding': 'base64' })).toEqual([200, '{}', text.toString('hex')]);
    for (const [encoding, pack] of packers) {
      const headers = { 'content-encoding': encoding };
      expect(await sent(pack(text), headers)).toEqual([200, '{}', text.toString('hex')]);
      expect(await sent(pack(png), headers)).toEqual([200, asBytes, png.toString('hex')]);
    }
  });

  it('returns the bytes that a webhook of an integration with a url answers', async () => {
    const server = await LoopbackServer.start((_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' }).end(png);
    });
    const bot = await installed({}, { url: server.url, code: undefined });

    const response = await bot.send();

    const answered = Buffer.from(await response.arrayBuffer()).toString('hex');
    expect([response.headers.get('content-type'), answered]).toEqual(['image/png', png.toString('hex')]);
    await server.close();
  });

  it('returns 502 for a webhook answer whose body is not in the encoding that it names', async () => {
    for (const encoding of ['base64', 'hex']) {
      const bot = await installed({ headers: { 'x-bp-body-encoding': encoding }, body: 'no base64' });
      const response = await bot.send();
      expect([response.status, await messageOf(response)]).toEqual([
        502,
        expect.stringContaining('x-bp-body-encoding'),
      ]);
    }
  });

  it('refuses webhook bodies that are too large, also unpacked, or that it cannot unpack', async () => {
    const bot = await installed();
    const post = async (body: Buffer | string, encoding?: string) => {
      const headers: Record<string, string> = encoding === undefined ? {} : { 'content-encoding': encoding };
      const response = await bot.send('', { method: 'POST', body: new Uint8Array(Buffer.from(body)), headers });
      return response.status === 200 ? 200 : [response.status, await messageOf(response)];
    };
    const tooLarge = [413, expect.stringContaining('10000000 bytes')];

    expect(await post('x'.repeat(10_000_001))).toEqual(tooLarge);
    expect(await post('x'.repeat(9_000_000))).toBe(200);
    for (const [encoding, pack] of packers) {
      expect(await post(pack(Buffer.alloc(10_000_001)), encoding)).toEqual(tooLarge);
      expect(await post('{}', encoding)).toEqual([400, expect.stringContaining(`content-encoding: the body is not`)]);
    }
    expect(await post('{}', 'zstd')).toEqual([415, expect.stringContaining('gzip, deflate or br')]);
  });

  it('returns 404 for a webhook of a disabled installation', async () => {
    const bot = await installed();

    await bot.update({ probe: { enabled: false } });

    await waitFor(
      () => bot.send('', { method: 'POST', body: '{}' }),
      ({ status }) => status === 404,
    );
  });

  it('returns 504 for a webhook that hangs, and 429 above the limit of an installation', async () => {
    const code = `exports.handler = ({ headers }) =>
      headers['x-bp-operation'] === 'webhook_received' ? new Promise(() => {}) : { status: 200 };`;
    const bot = await installed({}, { code });
    await limitTime(bot.integrationId);
    const statuses = async (count: number) =>
      (await Promise.all(Array.from({ length: count }, () => bot.send()))).map(({ status }) => status).sort();

    expect(await statuses(webhooksPerInstallation + 2)).toEqual([
      ...[429, 429],
      ...Array<number>(webhooksPerInstallation).fill(504),
    ]);
    expect(await statuses(1)).toEqual([504]);
  });

  it('returns 404 for an unknown webhook, state or shared webhook before the body is read', async () => {
    const { name } = await newIntegration();
    const disabled = await installed();
    await disabled.update({ probe: { enabled: false } });
    await waitFor(
      () => disabled.send(),
      ({ status }) => status === 404,
    );
    const paths = [
      ...['/webhooks/webhook_none/a', `/webhooks/${disabled.webhookId}`, '/oauth?state=webhook_none'],
      ...['/integration/global/nothing', `/integration/global/${name}`],
    ];

    expect(await Promise.all(paths.map(statusBeforeBody))).toEqual(paths.map(() => 404));
  });

  it.each([
    ['throws', `throw new Error('boom')`, 502, 'boom'],
    ['hangs', 'await new Promise(() => {})', 504, 'did not handle the request'],
  ])(
    'returns an error for a webhook of an integration that %s, and an issue with the reason',
    async (_case, body, status, message) => {
      const bot = await installed(undefined, {
        code: `exports.handler = async ({ headers }) => { if (headers['x-bp-operation'] === 'webhook_received') { ${body} } return {}; };`,
      });
      if (status === 504) await limitTime(bot.integrationId);

      const response = await bot.send('', { method: 'POST', body: '{}' });

      expect([response.status, await messageOf(response)]).toEqual([status, expect.stringContaining(message)]);
      await waitFor(
        () => account.client.listBotIssues({ id: bot.id }),
        ({ issues }) => issues.some(({ code: issueCode }) => issueCode === 'webhook_failed'),
      );
    },
  );

  it('names the public integration with a handle that a shared webhook without it may mean', async () => {
    await account.client.updateWorkspace({ id: account.workspaceId, handle: 'makers' });
    await newIntegration({ name: 'makers/loom', visibility: 'public' });

    const response = await fetch(`${api.url}/integration/global/loom/events`);

    expect([response.status, await messageOf(response)]).toEqual([
      ...[404, 'No integration "loom" has a shared webhook. "makers/loom" is public: use that name.'],
    ]);
  });

  it('creates messages and events of its bot for a webhook', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();
    const calls = { webhook_received: [['/v1/chat/events', { type: 'pinged', payload: { n: 1 } }]] };
    const { probe } = await bot.update({ probe: { integrationId: id, configuration: { calls } } });

    await fetch(`${api.url}/webhooks/${probe!.webhookId}`, { method: 'POST', body: '{}' });

    expect(bot.calls().at(-1)!.made).toMatchObject([{ status: 201 }]);
    const { events } = await bot.client.listEvents({});
    expect(events).toMatchObject([{ type: 'probe:pinged', payload: { n: 1 } }]);
  });
});

/** A billion steps. */
const endlessScript = `a = [1,2,3,4,5,6,7,8,9,10]
${Array.from({ length: 9 }, (_, level) => `for_each(a) -> |_i, v${level}| {`).join(' ')} .x = v0 ${'}'.repeat(9)}`;

describe('the shared webhook of an integration', () => {
  const scripts = {
    extractScript: 'body = parse_json!(.body)\nif .headers."x-key" == .secrets.KEY { body.team } else { null }',
    fallbackHandlerScript:
      '{ "status": 202, "headers": { "x-from": "script" }, "body": "nobody: " + to_string!(.path) }',
  };
  const identified = async (integrationId: string, identifier: string) => {
    const bot = await newBot();
    const calls = { register: [['/v1/chat/integrations/configure', { identifier }]] };
    const answers = { webhook_received: { status: 200, body: identifier } };
    await bot.update({ probe: { integrationId, configuration: { calls, answers } } });
    return bot;
  };
  const send = (name: string, team: unknown, key = 'k', base = '/integration/global') =>
    fetch(`${api.url}${base}/${name}/events?a=1`, {
      method: 'POST',
      headers: { 'x-key': key },
      body: typeof team === 'string' && team.startsWith('{') ? team : JSON.stringify({ team }),
    });

  it('calls the one of three bots that the script of a shared webhook identifies, by text or number', async () => {
    const { id, name } = await newIntegration({ identifier: scripts });
    const bots = await Promise.all(['a', 'b', '7'].map((identifier) => identified(id, identifier)));

    expect(await (await send(name, 'a')).json()).toBe('a');
    expect(await (await send(name, 7)).json()).toBe('7');
    expect(await (await send(name, 'b', 'k', '/webhooks/integration/global')).json()).toBe('b');

    for (const bot of bots) {
      const calls = bot.calls().filter(({ operation }) => operation === 'webhook_received');
      expect(calls.map(({ body }) => body['req'])).toMatchObject([{ path: '/events', query: 'a=1', method: 'POST' }]);
    }
  });

  it('answers a shared webhook by the fallback script if no identifier or result is found', async () => {
    const { id, name } = await newIntegration({ identifier: scripts });
    const bot = await identified(id, 'mine');

    for (const response of [
      await send(name, 'other'),
      await send(name, 'mine', 'forged'),
      await send(name, '{broken'),
    ]) {
      expect([response.status, response.headers.get('x-from'), await response.text()]).toEqual([
        ...[202, 'script', 'nobody: /events'],
      ]);
    }
    expect(bot.calls().filter(({ operation }) => operation === 'webhook_received')).toEqual([]);
  });

  it('returns no result of a script of a shared webhook that exceeds its processor time', async () => {
    const slowToExtract = await newIntegration({ identifier: { ...scripts, extractScript: endlessScript } });
    const slowToAnswer = await newIntegration({ identifier: { ...scripts, fallbackHandlerScript: endlessScript } });

    // 503 as long as the machine is too busy for the script.
    const sent = (name: string) =>
      waitFor(
        () => send(name, 'a'),
        ({ status }) => status !== 503,
      );

    const answered = await sent(slowToExtract.name);
    expect([answered.status, await answered.text()]).toEqual([202, 'nobody: /events']);
    expect((await sent(slowToAnswer.name)).status).toBe(404);
  });

  it('returns 404 for a shared webhook without an integration of that name, or without scripts', async () => {
    const { name } = await newIntegration();

    expect((await send('nothing', 'a')).status).toBe(404);
    expect((await send(name, 'a')).status).toBe(404);
  });

  it('moves a shared webhook to the installation that an OAuth round trip has connected', async () => {
    const { id, name } = await newIntegration({ identifier: scripts });
    const former = await identified(id, 'team');
    const bot = await newBot();
    const headers = { 'x-bp-integration-identifier': 'team' };
    const answers = { webhook_received: { status: 200, headers, body: 'moved' } };
    const { probe } = await bot.update({ probe: { integrationId: id, configuration: { answers } } });

    await fetch(`${api.url}/webhooks/${probe!.webhookId}`);
    expect((await bot.get()).probe.identifier).toBeUndefined();
    const response = await fetch(`${api.url}/oauth/callback?state=${probe!.webhookId}`);

    expect([response.status, response.headers.get('x-bp-integration-identifier')]).toEqual([200, null]);
    expect((await bot.get()).probe.identifier).toBe('team');
    expect((await former.get()).probe.identifier).toBeUndefined();
    expect(await (await send(name, 'team')).json()).toBe('moved');
  });
});

it('runs scripts of an integration for its users', async () => {
  const { client } = account;

  expect(await client.runVrl({ script: '.b = to_string!(.a) + "!"\n.b', data: { a: 'x' } })).toMatchObject({
    ...{ result: 'x!', data: { a: 'x', b: 'x!' } },
  });
  await expect(client.runVrl({ script: 'foo(', data: {} })).rejects.toMatchObject({
    ...{ type: 'InvalidPayload', message: expect.stringMatching(/^script: .*syntax error/) },
  });
});

describe('a message of the bot', () => {
  const installed = async (answer: object = {}) => {
    const { id, name } = await sharedIntegration();
    const bot = await newBot();
    const configure = (message_created: object, more: object = {}) =>
      bot.update({ probe: { integrationId: id, configuration: { answers: { message_created } }, ...more } });
    await configure(answer);
    const conversation = async () => {
      const input = { channel: 'channel', integrationName: 'probe', tags: { 'probe:room': 'r' } };
      return (await bot.client.createConversation(input)).conversation.id;
    };
    const send = (conversationId: string, text: string, userId = bot.id) =>
      bot.client.createMessage({ conversationId, userId, type: 'text', payload: { text }, tags: {} });
    const delivered = () => bot.calls().filter(({ operation }) => operation === 'message_created');
    const texts = () => delivered().map(({ body }) => (body['payload'] as { text: string }).text);
    const record = (messageId: string) =>
      waitFor(
        () => api.sql<Delivery>('SELECT * FROM runtime.message_delivery WHERE id = $1', [messageId]),
        ([row]) => row?.settled_at !== null && row !== undefined,
        15_000,
      ).then(([row]) => row!);
    return { ...bot, name, configure, conversation, send, delivered, texts, record };
  };

  interface Delivery {
    status: string;
    reason: string | null;
    attempts: { status: number | null }[];
    settled_at: Date | null;
  }

  it("delivers a message of the bot to the conversation's integration, which acknowledges it by its tags", async () => {
    const bot = await installed();
    const conversationId = await bot.conversation();

    const { message } = await bot.send(conversationId, 'hi');
    const [call] = await waitFor(bot.delivered, (all) => all.length === 1);

    expect(call).toMatchObject({
      headers: { 'x-integration-alias': 'probe', 'x-bp-attempt': '1' },
      body: {
        ...{ type: 'text', payload: { text: 'hi' } },
        conversation: { id: conversationId, channel: 'channel', tags: { room: 'r' } },
        message: { id: message.id, direction: 'outgoing', tags: {} },
        user: { id: bot.id },
      },
    });
    expect(await bot.record(message.id)).toMatchObject({ status: 'processed', attempts: [{ status: 200 }] });
  });

  it('delivers messages of the bot in order within a conversation', async () => {
    const bot = await installed();
    const [one, two] = [await bot.conversation(), await bot.conversation()];
    const texts = Array.from({ length: 10 }, (_, index) => String(index));

    for (const text of texts) await Promise.all([bot.send(one, `a${text}`), bot.send(two, `b${text}`)]);

    const all = await waitFor(bot.texts, ({ length }) => length === 20);
    for (const letter of ['a', 'b'])
      expect(all.filter((text) => text.startsWith(letter))).toEqual(texts.map((text) => `${letter}${text}`));
  });

  it('repeats a message after an error, and fails it with an issue after a refusal, before the next one', async () => {
    const bot = await installed({ status: 500, body: { message: 'down' } });
    const conversationId = await bot.conversation();
    const { message: first } = await bot.send(conversationId, 'first');
    const { message: second } = await bot.send(conversationId, 'second');
    await waitFor(bot.delivered, (all) => all.length === 1);

    await bot.configure(refusal);

    expect(await bot.record(first.id)).toMatchObject({
      ...{ status: 'failed', reason: 'The token is wrong.' },
      attempts: expect.arrayContaining([
        expect.objectContaining({ status: 500 }),
        expect.objectContaining({ status: 400 }),
      ]),
    });
    expect(await bot.record(second.id)).toMatchObject({ status: 'failed' });
    expect(bot.texts().lastIndexOf('first')).toBeLessThan(bot.texts().indexOf('second'));
    const { issues } = await waitFor(
      () => account.client.listBotIssues({ id: bot.id }),
      (page) => page.issues.length > 0,
    );
    expect(issues).toMatchObject([
      { code: 'message_failed', title: 'The integration "probe" failed to deliver a message' },
    ]);
  });

  it('does not deliver messages of users, imports, the chat, disabled channels or to disabled integrations', async () => {
    const bot = await installed();
    const conversationId = await bot.conversation();
    const { user } = await bot.client.createUser({ tags: {} });
    await bot.send(conversationId, 'of a user', user.id);
    const chat = await bot.client.createConversation({
      channel: 'channel',
      integrationName: 'chat',
      tags: {},
    });
    await bot.send(chat.conversation.id, 'in the chat');
    await bot.client.createMessage({
      ...{
        conversationId,
        userId: bot.id,
        type: 'text',
        payload: { text: 'synthetic' },
        tags: {},
        origin: 'synthetic',
      },
    });
    await bot.configure({}, { disabledChannels: ['channel'] });
    const isDisabled = async () =>
      (await bot.record((await bot.send(conversationId, 'disabled channel')).message.id)).status === 'ignored';
    await waitFor(isDisabled);
    await bot.configure({}, { disabledChannels: [] });
    const isDelivered = async () =>
      (await bot.record((await bot.send(conversationId, 'last')).message.id)).status === 'processed';
    await waitFor(isDelivered);

    expect(bot.texts().filter((text) => !['last', 'disabled channel'].includes(text))).toEqual([]);
    await bot.update({ probe: { enabled: false } });
    await waitFor(async () => {
      const { message } = await bot.send(conversationId, 'disabled integration');
      return (await bot.record(message.id)).reason === 'The integration is disabled in the bot.';
    });
  });

  it('does not send a message back to the integration that wrote it', async () => {
    const { id } = await sharedIntegration();
    const bot = await newBot();
    await bot.update({ probe: { integrationId: id } });
    const input = { channel: 'channel', integrationName: 'probe', tags: {} };
    const { conversation } = await bot.client.createConversation(input);
    const own = { conversationId: conversation.id, userId: bot.id, type: 'text', payload: { text: 'own' }, tags: {} };
    const calls = { webhook_received: [['/v1/chat/messages', own]] };
    const { probe } = await bot.update({ probe: { configuration: { calls } } });

    await fetch(`${api.url}/webhooks/${probe!.webhookId}`, { method: 'POST' });
    await bot.client.createMessage({ ...own, payload: { text: 'of the bot' } });

    const delivered = () => bot.calls().filter(({ operation }) => operation === 'message_created');
    const [first] = await waitFor(delivered, (all) => all.length > 0);
    expect(first!.body).toMatchObject({ payload: { text: 'of the bot' } });
  });
});

it('counts webhooks and messages by outcome', async () => {
  const { id } = await sharedIntegration();
  const bot = await newBot();
  const answers = { message_created: refusal };
  const { probe } = await bot.update({ probe: { integrationId: id, configuration: { answers } } });
  const input = { channel: 'channel', integrationName: 'probe', tags: {} };
  const { conversation } = await bot.client.createConversation(input);
  const counts = async () => [
    await counted('parley_webhooks_total', 'answered'),
    await counted('parley_message_deliveries_total', 'failed'),
  ];
  const [webhooks, messages] = (await counts()) as [number, number];

  await fetch(`${api.url}/webhooks/${probe!.webhookId}`, { method: 'POST' });
  const message = { conversationId: conversation.id, userId: bot.id, type: 'text', payload: { text: 'hi' }, tags: {} };
  await bot.client.createMessage(message);

  await waitFor(counts, ([answered, failed]) => answered === webhooks + 1 && failed! > messages);
});

describe('a change that the bot makes', () => {
  const installed = async (answers: object = {}, definition?: Partial<Definition>) => {
    const { id } = await (definition ? newIntegration(definition) : sharedIntegration());
    const bot = await newBot();
    await bot.update({ probe: { integrationId: id, configuration: { answers } } });
    const input = { channel: 'channel', integrationName: 'probe', tags: { 'probe:room': 'r' } };
    const { conversation } = await bot.client.createConversation(input);
    const send = async (text: string) => {
      const message = { conversationId: conversation.id, userId: bot.id, type: 'text', payload: { text }, tags: {} };
      return (await bot.client.createMessage(message)).message.id;
    };
    const edit = (id: string, text: string) => bot.client.updateMessage({ id, payload: { text }, tags: {} });
    const delivered = () => bot.calls().filter(({ operation }) => /^(message|conversation)_/.test(operation));
    const updates = () => delivered().filter(({ operation }) => operation.endsWith('_updated'));
    const isDelivered = (operation: string, text: string) =>
      waitFor(delivered, (all) =>
        all.some((call) => call.operation === operation && (call.body['payload'] as { text: string }).text === text),
      );
    return { ...bot, conversationId: conversation.id, send, edit, delivered, updates, isDelivered };
  };

  it('delivers a change of a message with the message before and after, and bare tags', async () => {
    const bot = await installed();
    const id = await bot.send('one');

    await bot.client.updateMessage({ id, payload: { text: 'two' }, tags: { 'probe:id': 'x', mine: 'y' } });
    const [call] = await waitFor(bot.updates, (all) => all.length === 1);

    expect(call).toMatchObject({
      ...{ operation: 'message_updated', headers: { 'x-integration-alias': 'probe', 'x-bp-attempt': '1' } },
      body: {
        ...{ type: 'text', payload: { text: 'two' }, user: { id: bot.id } },
        conversation: { id: bot.conversationId, channel: 'channel', tags: { room: 'r' } },
        currentMessage: { id, payload: { text: 'two' }, direction: 'outgoing' },
        previousMessage: { id, payload: { text: 'one' }, direction: 'outgoing' },
      },
    });
    const { currentMessage, previousMessage } = call!.body as Record<string, { tags: object }>;
    expect([previousMessage!.tags, currentMessage!.tags]).toEqual([{}, { id: 'x' }]);
  });

  it('delivers a change of a conversation to its integration', async () => {
    const bot = await installed();

    await bot.client.updateConversation({ id: bot.conversationId, tags: { 'probe:room': 's' } });
    const [call] = await waitFor(bot.delivered, (all) => all.length === 1);

    expect(call).toMatchObject({ operation: 'conversation_updated', headers: { 'x-bp-type': 'conversation_updated' } });
    expect(call!.body).toEqual({
      currentConversation: expect.objectContaining({ id: bot.conversationId, tags: { room: 's' } }),
      previousConversation: expect.objectContaining({ id: bot.conversationId, tags: { room: 'r' } }),
    });
  });

  it('keeps a change in its place among the messages, and delivers it once though announced twice', async () => {
    const bot = await installed();
    const id = await bot.send('1');
    await bot.edit(id, '2');
    await bot.send('3');
    await bot.edit(id, '4');
    await bot.edit(id, '5');
    await waitFor(bot.delivered, (all) => all.length === 5);

    const expected = ['message_created', 'message_updated', 'message_created', 'message_updated', 'message_updated'];
    expect(bot.delivered().map(({ operation }) => operation)).toEqual(expected);
    const texts = (name: string) => bot.updates().map(({ body }) => (body[name] as Body).payload.text);
    expect(texts('previousMessage')).toEqual(['1', '2', '4']);
    expect(texts('currentMessage')).toEqual(['2', '4', '5']);

    await api.sql(
      `INSERT INTO chat.outbox (id, subject, data) SELECT id || '_again', subject, data FROM chat.outbox
       WHERE subject = 'chat.messagesOutgoing' AND data ->> 'botId' = $1`,
      [bot.id],
    );
    await bot.send('6');
    await bot.isDelivered('message_created', '6');
    await waitFor(
      () => api.sql(`SELECT FROM chat.outbox WHERE published_at IS NULL`),
      (rows) => rows.length === 0,
    );
    await bot.send('7');
    await bot.isDelivered('message_created', '7');
    expect(bot.delivered()).toHaveLength(7);
  });

  it('delivers a change after a message that still fails, and fails it with an issue after a refusal', async () => {
    const bot = await installed({ message_created: { status: 500, body: { message: 'down' } } });
    const id = await bot.send('1');
    await waitFor(bot.delivered, (all) => all.length === 1);
    await bot.edit(id, '2');

    await bot.update({ probe: { configuration: { answers: { message_updated: refusal } } } });

    const { issues } = await waitFor(
      () => account.client.listBotIssues({ id: bot.id }),
      (page) => page.issues.length > 0,
      15_000,
    );
    expect(issues).toMatchObject([
      { code: 'message_failed', title: 'The integration "probe" failed to update a message' },
    ]);
    const statement = `SELECT change, status, reason FROM runtime.message_delivery WHERE bot_id = $1 ORDER BY settled_at`;
    expect(await api.sql(statement, [bot.id])).toMatchObject([
      { change: null, status: 'processed' },
      { change: 'message_updated', status: 'failed', reason: 'The token is wrong.' },
    ]);
  });

  it('does not deliver a change that the integration does not see, of a user or in the chat', async () => {
    const bot = await installed();
    const id = await bot.send('1');
    await bot.edit(id, '1');
    await bot.client.updateMessage({ id, tags: { mine: 'y' } });
    await bot.client.updateConversation({ id: bot.conversationId, tags: { mine: 'y' } });
    const { user } = await bot.client.createUser({ tags: {} });
    const own = { conversationId: bot.conversationId, userId: user.id, type: 'text', payload: { text: 'u' }, tags: {} };
    await bot.edit((await bot.client.createMessage(own)).message.id, 'of a user');
    const chat = await bot.client.createConversation({ channel: 'channel', integrationName: 'chat', tags: {} });
    const ofChat = { ...own, conversationId: chat.conversation.id, userId: bot.id };
    await bot.edit((await bot.client.createMessage(ofChat)).message.id, 'in the chat');
    await bot.client.updateConversation({ id: chat.conversation.id, tags: { a: 'b' } });

    await bot.edit(id, 'last');
    await bot.isDelivered('message_updated', 'last');

    expect(bot.updates()).toHaveLength(1);
  });

  it('forgets a change when the message is deleted', async () => {
    const bot = await installed();
    const id = await bot.send('1');
    await bot.edit(id, '2');
    await bot.isDelivered('message_updated', '2');

    await bot.client.deleteMessage({ id });

    expect(await api.sql('SELECT FROM chat.outgoing_change WHERE bot_id = $1', [bot.id])).toEqual([]);
  });

  it('does not send changes to integrations that do not ask for them', async () => {
    const extraOperations = { message_updated: { enabled: false } };
    const bot = await installed({}, { channels: { channel }, extraOperations });
    await bot.edit(await bot.send('1'), '2');
    await bot.client.updateConversation({ id: bot.conversationId, tags: { 'probe:room': 's' } });
    await bot.send('3');

    await bot.isDelivered('message_created', '3');
    expect(bot.updates()).toEqual([]);
  });

  it('does not send a change back to the integration that made it', async () => {
    const bot = await installed();
    const id = await bot.send('1');
    const headers = {
      authorization: `Bearer ${account.token}`,
      ...{ 'x-workspace-id': account.workspaceId, 'x-bot-id': bot.id, 'x-integration-alias': 'probe' },
    };
    const acknowledge = { headers, json: { tags: { id: 'acknowledged' } } };
    expect((await api.send(`PUT /v1/chat/messages/${id}`, acknowledge)).status).toBe(200);
    const rename = { headers, json: { tags: { room: 's' } } };
    expect((await api.send(`PUT /v1/chat/conversations/${bot.conversationId}`, rename)).status).toBe(200);

    await bot.edit(id, '2');
    await bot.isDelivered('message_updated', '2');

    expect(bot.updates().map(({ body }) => body['previousMessage'])).toMatchObject([
      { payload: { text: '1' }, tags: { id: 'acknowledged' } },
    ]);
  });
});

interface Body {
  payload: { text: string };
}

describe('the output of an integration', () => {
  const line = (text: string, more: object) => JSON.stringify({ msg: text, level: 'info', ...more });

  it('shows output of an integration to its owner, also without its bot, to the bot, or to both, and its issues to the bot', async () => {
    const bot = await newBot();
    const lines = [
      line('for the owner', {}),
      line('for both', { visible_to_bot_owner: true }),
      line('for the bot', { visible_to_bot_owner: true, hidden_to_integration_owner: true }),
      line('of another bot', { botId: 'other', visible_to_bot_owner: true }),
      JSON.stringify({
        ...{
          type: 'issue',
          code: 'EXPIRED',
          category: 'configuration',
          title: 'Expired',
          description: 'Log in again.',
        },
        ...{ data: {}, groupBy: [], botId: bot.id },
      }),
    ];
    const { id } = await newIntegration({
      code: `exports.handler = () => { for (const line of ${JSON.stringify(lines)}) console.info(line); return {}; };`,
    });
    await bot.update({ probe: { integrationId: id } });

    const timeStart = new Date(Date.now() - 3_600_000).toISOString();
    const ofOwner = () => account.client.getIntegrationLogs({ id, timeStart });
    const messages = (logs: { message: string }[]) => logs.map(({ message }) => message).reverse();
    const { logs } = await waitFor(ofOwner, (page) => page.logs.length === 4);

    expect(messages(logs)).toEqual(['for the owner', 'for both', 'of another bot', 'Expired: Log in again.']);
    const ofBot = await account.client.getBotLogs({ id: bot.id, timeStart });
    expect(messages(ofBot.logs)).toEqual(['for both', 'for the bot', 'Expired: Log in again.']);
    const { issues } = await waitFor(
      () => account.client.listBotIssues({ id: bot.id }),
      (page) => page.issues.length === 1,
    );
    expect(issues).toMatchObject([{ code: 'EXPIRED', category: 'configuration', title: 'Expired' }]);
    const stranger = await api.newAccount();
    await expect(stranger.client.getIntegrationLogs({ id, timeStart })).rejects.toMatchObject({ code: 404 });

    await account.client.deleteBot({ id: bot.id });

    // The integration prints its lines once more for the deletion, which calls `unregister`.
    const left = await waitFor(ofOwner, (page) => page.logs.every(({ message }) => message === 'of another bot'));
    expect(left.logs.length).toBeGreaterThan(0);
  });
});

it('keeps the webhook id of the chat when it is removed and comes back', async () => {
  const bot = await newBot();
  const { chat } = await bot.get();

  await bot.update({ chat: null });
  expect(await bot.get()).toEqual({});
  const again = await bot.update({ chat: { integrationId: chat.id, configuration: {} } });

  expect(again['chat']!.webhookId).toBe(chat.webhookId);
});

describe('the link of an installation', () => {
  const linkOf = async (linkTemplateScript?: string, more: Partial<Definition> = {}, change: object = {}) => {
    const schema = { type: 'object', properties: {} };
    const { id } = await newIntegration({
      configuration: { schema, identifier: { linkTemplateScript } },
      ...more,
    });
    const bot = await newBot();
    const { probe } = await bot.update({ probe: { integrationId: id, enabled: false, ...change } });
    const get = (as = account) =>
      api.send(`GET /v1/admin/bots/${bot.id}/integrations/probe/link`, {
        headers: { authorization: `Bearer ${as.token}`, 'x-workspace-id': as.workspaceId },
      });
    return { ...bot, integrationId: id, webhookId: probe!.webhookId, webhookUrl: probe!.webhookUrl, get };
  };
  const template =
    '"https://app.example/" + to_string!(.env) + "?state=" + to_string!(.webhookId) + "&uri=" + to_string!(.webhookUrl)';

  it('renders the link of an installation from the webhook and the environment', async () => {
    const bot = await linkOf(template);

    const base = bot.webhookUrl.replace(`/${bot.webhookId}`, '');
    const link = `https://app.example/production?state=${bot.webhookId}&uri=${base}`;
    expect((await bot.get()).json).toEqual({ link, problem: null });
    const operator = await api.send(`GET /operator/admin/bots/${bot.id}/integrations/probe/link`, {
      headers: { authorization: `Bearer ${api.operatorToken}` },
    });
    expect(operator.json).toEqual({ link, problem: null });
  });

  it('renders the link of the type of configuration, with the shareable id while there is one', async () => {
    const configurations = {
      alt: {
        schema: { type: 'object', properties: {} },
        identifier: { linkTemplateScript: '"https://chat.example/?text=" + (to_string(.shareableId) ?? "none")' },
      },
    };
    const bot = await linkOf(template, { configurations }, { configurationType: 'alt', configuration: {} });
    expect((await bot.get()).json).toEqual({ link: expect.stringMatching(/\?text=(none)?$/), problem: null });

    const { shareableId } = await account.client.createIntegrationShareableId({
      ...{ botId: bot.id, integrationId: bot.integrationId },
    });

    expect((await bot.get()).json).toEqual({ link: `https://chat.example/?text=${shareableId}`, problem: null });
  });

  it.each([
    ['no script', undefined, null],
    ['a script that does not compile', 'foo(', 'syntax error'],
    ['a script that fails', 'parse_json!("x")', 'unable to parse json'],
    ['a script that returns no address', '3', 'no http:// or https:// address'],
    ['a script whose address runs code', '"javascript:alert(1)"', 'no http:// or https:// address'],
  ])('returns no link with %s, and the reason', async (_case, script, problem) => {
    const bot = await linkOf(script);

    const reason = problem === null ? null : expect.stringContaining(problem);
    expect(await bot.get()).toMatchObject({ status: 200, json: { link: null, problem: reason } });
    expect(await bot.get()).toMatchObject({ status: 200 });
  });

  it('hides the link of an installation from other workspaces', async () => {
    const bot = await linkOf(template);

    expect(await bot.get(await api.newAccount())).toMatchObject({ status: 404, json: { type: 'ResourceNotFound' } });
  });
});

describe('recorded webhook requests', () => {
  const installed = async (answer: object = {}) => {
    const { id } = await newIntegration();
    const bot = await newBot();
    const configuration = { answers: { webhook_received: answer } };
    const { probe } = await bot.update({ probe: { integrationId: id, configuration } });
    const base = `/v1/admin/bots/${bot.id}/integrations/probe`;
    const ask = (line: string, input?: object, as = account) => {
      const [method, path] = line.split(' ') as [string, string];
      const headers = { authorization: `Bearer ${as.token}`, 'x-workspace-id': as.workspaceId };
      return api.send(`${method} ${base}${path}`, { headers, json: input });
    };
    const send = (path = '', init: RequestInit = {}) => fetch(`${api.url}/webhooks/${probe!.webhookId}${path}`, init);
    const record = (enabled = true) => ask('PUT /webhook-recording', { enabled });
    const list = async () => (await ask('GET /webhook-requests')).json.requests as Record<string, unknown>[];
    const listed = (count: number) => waitFor(list, ({ length }) => length === count);
    const received = () => bot.calls().filter(({ operation }) => operation === 'webhook_received');
    return { ...bot, ask, send, record, list, listed, received };
  };

  it('records webhook requests exactly but for secret headers, encrypted, and does not record replays', async () => {
    const bot = await installed({ status: 202, body: 'thanks' });
    expect((await bot.record()).json).toEqual({ enabled: true });
    const body = '{"text": "grüße \u0041",  "n":1.0}';
    const secrets = { authorization: 'Bearer s3cret', cookie: 'a=s3cret', 'x-api-key': 's3cret' };
    await bot.send('/events/a%20b?x=1', { method: 'POST', headers: { ...secrets, 'x-signature': 'abc' }, body });

    const [summary] = await bot.listed(1);
    expect(summary).toEqual({
      ...{
        id: expect.any(String),
        receivedAt: expect.any(String),
        method: 'POST',
        path: '/events/a%20b',
        query: 'x=1',
      },
      ...{ status: 202, bodyBytes: Buffer.byteLength(body), isComplete: true },
    });
    const { request } = (await bot.ask(`GET /webhook-requests/${String(summary!['id'])}`)).json;
    expect(request).toMatchObject({ ...summary, body, headers: { 'x-signature': 'abc' } });
    expect(request.maskedHeaders.sort()).toEqual(Object.keys(secrets).sort());
    expect(JSON.stringify(request)).not.toContain('s3cret');
    const rows = await api.sql('SELECT * FROM runtime.recorded_request');
    expect(JSON.stringify(rows)).not.toMatch(/events|abc|text/);

    const replay = { headers: { 'X-API-Key': 'given' } };
    const answer = await bot.ask(`POST /webhook-requests/${String(summary!['id'])}/replay`, replay);

    expect(answer).toMatchObject({ status: 200, json: { status: 202, body: '"thanks"' } });
    const [first, second] = bot.received().map(({ body: call }) => call['req'] as Record<string, unknown>);
    expect(second).toMatchObject({ ...first, headers: { 'x-signature': 'abc', 'x-api-key': 'given' } });
    expect(second!['headers']).not.toHaveProperty('cookie');
    await bot.send('', { method: 'POST', body: 'x' });
    expect(await bot.listed(2)).toHaveLength(2);
  });

  it('records webhook requests whose body is no text, and replays them', async () => {
    const bot = await installed({ status: 202 });
    await bot.record();
    await bot.send('', { method: 'POST', body: new Uint8Array(png) });

    const [summary] = await bot.listed(1);
    const path = `/webhook-requests/${String(summary!['id'])}`;
    const { request } = (await bot.ask(`GET ${path}`)).json;
    await bot.ask(`POST ${path}/replay`, {});

    expect(request).toMatchObject({ bodyBytes: png.length, body: png.toString('base64') });
    const [first, second] = bot.received().map(({ body: call }) => call['req'] as Record<string, unknown>);
    expect(second).toEqual(first);
    expect(second).toMatchObject({ body: png.toString('base64'), headers: { 'x-bp-body-encoding': 'base64' } });
  });

  it('keeps the latest 20 recorded requests, with failures, and large ones without a body to replay', async () => {
    const bot = await installed(refusal);
    await bot.record();
    for (let number = 0; number < 21; number += 1) await bot.send(`/${number}`, { method: 'POST', body: '{}' });
    await bot.send('/large', { method: 'POST', body: 'x'.repeat(256 * 1024 + 1) });

    const requests = await waitFor(bot.list, ([latest]) => latest?.['path'] === '/large');

    expect(requests.map(({ path }) => path)).toEqual(['/large', ...Array.from({ length: 19 }, (_, i) => `/${20 - i}`)]);
    expect(requests[0]).toMatchObject({ status: 400, bodyBytes: 256 * 1024 + 1, isComplete: false });
    const replay = await bot.ask(`POST /webhook-requests/${String(requests[0]!['id'])}/replay`, {});
    expect(replay).toMatchObject({ status: 400, json: { message: expect.stringContaining('was not kept') } });
  });

  it('deletes recorded requests after 7 days', async () => {
    const bot = await installed({ status: 200 });
    await bot.record();
    await bot.send('/old', { method: 'POST', body: '{}' });
    await bot.listed(1);
    await bot.send('/new', { method: 'POST', body: '{}' });
    const [newer, older] = (await bot.listed(2)).map(({ id }) => String(id));
    const age = (id: string, interval: string) =>
      api.sql('UPDATE runtime.recorded_request SET received_at = now() - $2::interval WHERE id = $1', [id, interval]);
    await age(newer!, '6 days 23 hours');
    await age(older!, '7 days 1 second');

    expect((await bot.list()).map(({ id }) => id)).toEqual([newer]);
    for (const line of [`GET /webhook-requests/${older}`, `POST /webhook-requests/${older}/replay`])
      expect(await bot.ask(line, line.startsWith('POST') ? {} : undefined)).toMatchObject({ status: 404 });
    api.apps[4]!.get(BackgroundTasks, { strict: false }).wake('runtime.recordingRetention');
    await waitFor(
      () => api.sql('SELECT FROM runtime.recorded_request WHERE id = $1', [older]),
      ({ length }) => length === 0,
    );
  });

  it('erases recorded requests when recording is switched off, with the installation and with the bot', async () => {
    const recordings = (botId: string) => api.sql('SELECT FROM runtime.webhook_recording WHERE bot_id = $1', [botId]);
    const [never, ended, removed, deleted] = await Promise.all(Array.from({ length: 4 }, () => installed()));
    for (const bot of [ended!, removed!, deleted!]) await bot.record();
    for (const bot of [never!, ended!, removed!, deleted!]) await bot.send('', { method: 'POST', body: 'x' });
    for (const bot of [ended!, removed!, deleted!]) await bot.listed(1);

    expect((await never!.ask('GET /webhook-requests')).json).toEqual({ enabled: false, requests: [] });
    await ended!.record(false);
    await removed!.update({ probe: null });
    await account.client.deleteBot({ id: deleted!.id });
    for (const { id } of [ended!, removed!, deleted!])
      await waitFor(
        () => recordings(id),
        ({ length }) => length === 0,
      );
  });

  it('writes an audit record when recording is switched', async () => {
    const bot = await installed({ status: 200 });
    await bot.record();
    await bot.record(false);

    const ofBot = await waitFor(
      async () => {
        const { records } = await account.client.getAuditRecords({ id: account.workspaceId });
        return records.filter(({ resourceId, resourceName }) => resourceId === bot.id && resourceName === 'probe');
      },
      ({ length }) => length === 2,
    );
    expect(ofBot.map(({ value }) => value)).toEqual(['{"enabled":false}', '{"enabled":true}']);
  });

  it('hides recorded requests from other workspaces, viewers and the chat', async () => {
    const bot = await installed();
    const [stranger, viewer] = [await api.newAccount(), await api.newAccount()];
    await api.addMember(account.workspaceId, viewer.accountId, 'viewer');
    const asViewer = { ...viewer, workspaceId: account.workspaceId };

    for (const line of ['PUT /webhook-recording', 'GET /webhook-requests', 'GET /webhook-requests/x']) {
      const input = line.startsWith('PUT') ? { enabled: true } : undefined;
      expect(await bot.ask(line, input, stranger)).toMatchObject({ status: 404 });
      expect(await bot.ask(line, input, asViewer)).toMatchObject({ status: 403 });
    }
    expect(await bot.ask('GET /webhook-requests/x')).toMatchObject({ status: 404 });
    const chat = await api.send(`GET /operator/runtime/bots/${bot.id}/integrations/chat/webhook-requests`, {
      headers: { authorization: `Bearer ${api.operatorToken}` },
    });
    expect(chat).toMatchObject({ status: 404 });
  });
});
