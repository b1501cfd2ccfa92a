import { Client as ChatClient, type SignalListener } from '@botpress/chat';
import { Client } from '@botpress/client';
import { json, LoopbackServer, type RequestHandler } from '@parley/testing/loopback-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { ChatConfig } from '../../../chat/src/config';
import { ChatModule } from '../../../chat/src/chat.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { RuntimeConfig } from '../config';
import { RuntimeModule } from '../runtime.module';

type Definition = Parameters<Client['createBot']>[0];
type Bot = Awaited<ReturnType<typeof newBot>>;

const actionsPerBot = 3;
const number = { type: 'number' };
const sums = {
  input: { schema: { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] } },
  output: { schema: { type: 'object', properties: { sum: number }, required: ['sum'] } },
};
const anything = { input: { schema: {} }, output: { schema: {} } };

let api: PublicApi;
let account: Account;
const servers: LoopbackServer[] = [];
const listeners: SignalListener[] = [];

beforeAll(async () => {
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ChatModule, ChatConfig, { sweepIntervalMs: 100 }),
    configured(RuntimeModule, RuntimeConfig, { actionsPerBot }),
  );
  account = await api.newAccount();
});

afterAll(async () => {
  await Promise.all(listeners.map((listener) => listener.disconnect()));
  await api?.stop();
  await Promise.all(servers.map((server) => server.close()));
});

/** Bot with the actions `add` and `do`, whose server answers actions like this. */
async function newBot(answer: RequestHandler, definition: Definition = {}) {
  const server = await LoopbackServer.start((request, response) =>
    (request.headers['x-bp-operation'] === 'action_triggered' ? answer : json({}))(request, response),
  );
  servers.push(server);
  const { bot } = await account.client.createBot({
    url: server.url,
    actions: { add: sums, do: anything },
    ...definition,
  });
  const client = api.client(account.token, account.workspaceId, bot.id);
  const requests = () =>
    server.requests.filter(({ headers: { 'x-bp-operation': kind } }) => kind === 'action_triggered');
  return { id: bot.id, bot, client, requests };
}

/** Client that names installations and plugins by alias. */
const aliases = () =>
  new Client({
    ...{ apiUrl: api.url, token: account.token, workspaceId: account.workspaceId },
    headers: { 'x-multiple-integrations': 'true' },
  });

const output = (value: unknown) => json({ output: value });
const runtimeError = (message: string, code = 400) => json({ id: 'err_1', code, type: 'Runtime', message }, code);
const runsOf = ({ id }: Bot, query: Partial<Parameters<Client['listActionRuns']>[0]> = {}) =>
  account.client.listActionRuns({ id, ...query } as Parameters<Client['listActionRuns']>[0]);

describe('an action of the bot', () => {
  it('calls an action of the bot with its name and input, and returns its output', async () => {
    const bot = await newBot(output({ sum: 3 }), { configuration: { data: { color: 'blue' } } });

    const answer = await bot.client.callAction({ type: 'add', input: { a: 1, b: 2 } });

    expect(answer).toEqual({ output: { sum: 3 }, meta: { cached: false } });
    expect(bot.requests()).toHaveLength(1);
    const [{ headers, body }] = bot.requests() as [ReturnType<Bot['requests']>[0]];
    expect(headers).toMatchObject({ 'x-bot-id': bot.id, 'x-bp-type': 'add', 'x-bp-attempt': '1' });
    expect(headers['webhook-signature']).toMatch(/^v1,/);
    expect(body).toEqual({ type: 'add', input: { a: 1, b: 2 } });
  });

  it('calls an action of a plugin, whose alias stays in the name', async () => {
    const { plugin } = await account.client.createPlugin({
      name: `greeter-${Date.now()}`,
      version: '1.0.0',
      code: { node: '', browser: '' },
      actions: { pact: sums },
    });
    const bot = await newBot(output({ sum: 5 }));
    await aliases().updateBot({ id: bot.id, plugins: { greeter: { id: plugin.id } } });

    await expect(bot.client.callAction({ type: 'greeter#pact', input: { a: 2, b: 3 } })).resolves.toMatchObject({
      output: { sum: 5 },
    });
    expect(bot.requests()[0]!.body).toEqual({ type: 'greeter#pact', input: { a: 2, b: 3 } });
    await expect(bot.client.callAction({ type: 'greeter#add', input: {} })).rejects.toMatchObject({ code: 404 });
  });

  it.each<[string, object, string]>([
    ['add', { a: 1 }, 'input must have required property \'b\' (input of the action "add").'],
    ['add', { a: 1, b: 'two' }, 'input.b must be number (input of the action "add").'],
    ['add me', {}, 'type must be the name of an action: ASCII characters without spaces, such as chat:sendEvent'],
  ])('refuses the action %j with the input %j', async (type, input, message) => {
    const bot = await newBot(output({ sum: 3 }));

    await expect(bot.client.callAction({ type, input })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringContaining(message),
    });
    expect(bot.requests()).toEqual([]);
    expect((await runsOf(bot)).data).toEqual([]);
  });

  it.each([
    ['subtract', 'The action "subtract" was not found.'],
    ['greeter#pact', 'The action "greeter#pact" was not found.'],
    ['toString', 'The action "toString" was not found.'],
    ['slack:post', 'The bot has no integration with the alias "slack" (action "post").'],
    ['chat:post', 'The action "chat:post" was not found.'],
    ['chat:toString', 'The action "chat:toString" was not found.'],
  ])('returns 404 for the action %s', async (type, message) => {
    const bot = await newBot(output({}));

    await expect(bot.client.callAction({ type, input: {} })).rejects.toMatchObject({
      type: 'ResourceNotFound',
      message,
    });
  });

  it('passes on keys that closed schemas do not know, in the input and the output', async () => {
    const closed = (properties: object) => ({ type: 'object', properties, additionalProperties: false });
    const text = closed({ type: { const: 'text' }, payload: closed({ text: { type: 'string' } }) });
    const image = closed({ type: { const: 'image' }, payload: closed({ imageUrl: { type: 'string' } }) });
    const history = closed({ messages: { type: 'array', items: { anyOf: [image, text] } } });
    const sent = { messages: [{ type: 'text', payload: { text: 'Help', type: 'text' } }], by: 'user' };
    const bot = await newBot(output({ id: 'conv', more: 1 }), {
      actions: { handOver: { input: { schema: history }, output: { schema: closed({ id: { type: 'string' } }) } } },
    });

    const answer = await bot.client.callAction({ type: 'handOver', input: sent });

    expect(answer.output).toEqual({ id: 'conv', more: 1 });
    expect(bot.requests()[0]!.body).toEqual({ type: 'handOver', input: sent });
  });

  it('calls an action whose schemas hold references without a check', async () => {
    const schema = { $ref: '#/definitions/none' };
    const bot = await newBot(output({ free: true }), {
      actions: { free: { input: { schema }, output: { schema } } },
    });

    await expect(bot.client.callAction({ type: 'free', input: { any: 1 } })).resolves.toMatchObject({
      output: { free: true },
    });
  });

  it.each<[string, RequestHandler, string]>([
    ['refuses', runtimeError('No such customer.'), 'No such customer.'],
    ['fails', runtimeError('boom', 500), 'boom'],
    ['answers with a text', (_request, response) => void response.end('<html>'), 'answered 200 without an output'],
    ['answers without an output', json({ sum: 3 }), 'answered 200 without an output'],
    ['answers with a list', output([3]), 'answered 200 without an output'],
    ['answers another shape', output({ sum: 'three' }), 'output.sum must be number'],
    ['breaks off', (_request, response) => void response.destroy(), 'The action "add" failed'],
  ])('returns an error of type Runtime for an action that %s', async (_name, answer, message) => {
    const bot = await newBot(answer);

    await expect(bot.client.callAction({ type: 'add', input: { a: 1, b: 2 } })).rejects.toMatchObject({
      type: 'Runtime',
      code: 400,
      message: expect.stringContaining(message),
    });
    expect((await runsOf(bot)).data).toMatchObject([
      { status: 'FAILURE', output: null, errorMessage: expect.stringContaining(message) },
    ]);
  });

  it('returns OperationTimeout if the bot does not answer in time', async () => {
    const bot = await newBot(() => undefined, { maxExecutionTime: 1 });

    await expect(bot.client.callAction({ type: 'do', input: {} })).rejects.toMatchObject({
      type: 'OperationTimeout',
      code: 504,
      message: expect.stringContaining('within 1000 ms'),
    });
  });

  it('names how many actions wait for each other, to which a server can add its own calls', async () => {
    const bot = await newBot(output({}));
    const as = (depth: string) =>
      api.send('POST /v1/chat/actions', {
        headers: { authorization: `Bearer ${account.token}`, 'x-bot-id': bot.id, 'x-parley-action-depth': depth },
        json: { type: 'do', input: {} },
      });
    await bot.client.callAction({ type: 'do', input: {} });

    const [within, tooDeep, invalid] = [await as('4'), await as('5'), await as('many')];

    expect(within.status).toBe(200);
    expect(bot.requests().map(({ headers }) => headers['x-parley-action-depth'])).toEqual(['1', '5']);
    expect(tooDeep).toMatchObject({ status: 400, json: { type: 'Runtime' } });
    expect(tooDeep.json['message']).toMatch(/^The action "do" was not called: 5 actions wait for each other already/);
    expect(invalid).toMatchObject({ status: 400, json: { type: 'InvalidPayload' } });
    expect(invalid.json['message']).toContain('The header x-parley-action-depth must be');
  });

  it('ends an action that calls itself when its slots are used up', async () => {
    const depths: number[] = [];
    let errors: unknown[] = [];
    const bot = await newBot((request, response) => {
      depths.push(depths.length);
      const again = api.client(account.token, account.workspaceId, bot.id);
      void again
        .callAction({ type: 'do', input: {} })
        .catch((error: unknown) => (errors = [...errors, error]))
        .then(() => json({ output: {} })(request, response));
    });

    await bot.client.callAction({ type: 'do', input: {} });

    expect(depths).toHaveLength(actionsPerBot);
    const message = `${actionsPerBot} actions of the bot are running. Does an action call itself?`;
    expect(errors).toMatchObject([{ type: 'RateLimited', message }]);
    // All slots are free again.
    errors = [];
    depths.length = 0;
    await bot.client.callAction({ type: 'do', input: {} });
    expect(depths).toHaveLength(actionsPerBot);
  });

  it('explains why an action of a bot without url and code is not called', async () => {
    const { bot } = await account.client.createBot({ actions: { do: anything } });
    const client = api.client(account.token, account.workspaceId, bot.id);

    await expect(client.callAction({ type: 'do', input: {} })).rejects.toMatchObject({
      type: 'Runtime',
      message: 'The bot has neither a url nor code.',
    });
  });
});

describe('actions of the chat', () => {
  /** Bot with a conversation, and all signals that its user hears. */
  async function listened() {
    const bot = await newBot(output({}));
    const { webhookUrl } = Object.values(bot.bot.integrations)[0]!;
    const apiUrl = `${api.url}${new URL(webhookUrl).pathname}`;
    const user = await ChatClient.connect({ apiUrl });
    const { conversation } = await user.createConversation({});
    const listener = await user.listenConversation({ id: conversation.id });
    listeners.push(listener);
    const events: unknown[] = [];
    listener.on('event_created', (event) => events.push(event));
    return { bot, conversation, events, user, apiUrl };
  }

  it('sends an event of a chat action to those who listen', async () => {
    const { bot, conversation, events } = await listened();
    const input = { conversationId: conversation.id, payload: { typing: true } };

    const answer = await bot.client.callAction({ type: 'chat:sendEvent', input });

    expect(answer).toEqual({ output: {}, meta: { cached: false } });
    await waitFor(() => events.length === 1);
    expect(events).toEqual([
      expect.objectContaining({ ...input, id: null, userId: bot.id, isBot: true, createdAt: expect.any(String) }),
    ]);
    expect((await runsOf(bot, { integrationName: 'chat' })).data).toMatchObject([
      { integrationName: 'chat', actionType: 'chat:sendEvent', input, output: {}, status: 'SUCCESS' },
    ]);
  });

  it('shows a message of a chat action while it is written', async () => {
    const { bot, conversation, user, apiUrl } = await listened();
    const frames: { type: string; data: object }[] = [];
    const response = await fetch(`${apiUrl}/conversations/${conversation.id}/listen`, {
      headers: { 'x-user-key': (user as unknown as { user: { key: string } }).user.key },
    });
    const read = (async () => {
      let text = '';
      for await (const chunk of response.body!) {
        text += Buffer.from(chunk as Uint8Array).toString();
        const signals = text.split('\n').flatMap((line) => (/^data: (\{.*\})$/.exec(line) ?? []).slice(1));
        frames.splice(0, frames.length, ...signals.map((line) => JSON.parse(line) as (typeof frames)[0]));
        if (frames.some(({ type }) => type === 'message_stream_abort')) return;
      }
    })();
    const publish = (signal: object) =>
      bot.client.callAction({
        type: 'chat:publishMessageStream',
        input: { conversationId: conversation.id, signal },
      });

    await publish({ type: 'delta', streamId: 's', sequence: 0, delta: 'Hel' });
    await publish({ type: 'delta', streamId: 's', sequence: 1, delta: 'lo' });
    await publish({ type: 'abort', streamId: 's' });

    await read;
    const shared = { streamId: 's', conversationId: conversation.id };
    const written = { ...shared, userId: bot.id, createdAt: expect.any(String) };
    expect(frames).toEqual([
      { type: 'message_stream_delta', data: { ...written, sequence: 0, delta: 'Hel' } },
      { type: 'message_stream_delta', data: { ...written, sequence: 1, delta: 'lo' } },
      { type: 'message_stream_abort', data: shared },
    ]);
  });

  it.each([
    ['sendEvent', { payload: {} }, "input must have required property 'conversationId'"],
    ['sendEvent', { conversationId: 'x', payload: 'no object' }, 'input.payload must be object'],
    ['publishMessageStream', { conversationId: 'x', signal: { type: 'delta' } }, 'input.signal must have required'],
  ])('refuses the chat action %s with the input %j', async (name, input, message) => {
    const bot = await newBot(output({}));

    await expect(bot.client.callAction({ type: `chat:${name}`, input })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringContaining(message),
    });
  });

  it('returns an error for a chat action on a conversation of another bot', async () => {
    const [{ conversation, events }, other] = await Promise.all([listened(), newBot(output({}))]);
    const input = { conversationId: conversation.id, payload: {} };

    await expect(other.client.callAction({ type: 'chat:sendEvent', input })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
    expect(events).toEqual([]);
  });
});

describe('runs of actions', () => {
  it('lists runs of actions newest first, by page, by time and by integration', async () => {
    const bot = await newBot((request, response) => output({ sum: 1 })(request, response));
    for (const a of [1, 2, 3]) await bot.client.callAction({ type: 'add', input: { a, b: 0 } });

    const all = await runsOf(bot);
    const [newest, middle] = all.data;
    const first = await runsOf(bot, { pageSize: 2 });
    const second = await runsOf(bot, { pageSize: 2, nextToken: first.meta.nextToken });

    expect(all.data.map(({ input }) => input['a'])).toEqual([3, 2, 1]);
    expect(newest).toEqual({
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      actionType: 'add',
      input: { a: 3, b: 0 },
      inputTruncated: false,
      output: { sum: 1 },
      outputTruncated: false,
      status: 'SUCCESS',
      durationMs: expect.any(Number),
      cached: false,
      errorMessage: null,
    });
    expect(newest!.durationMs).toBeLessThan(60_000);
    expect([...first.data, ...second.data]).toEqual(all.data);
    expect(second.meta.nextToken).toBeUndefined();
    const until = new Date(Date.parse(newest!.timestamp) - 1).toISOString();
    expect((await runsOf(bot, { timestampUntil: until })).data[0]).toEqual(middle);
    const future = new Date(Date.now() + 60_000).toISOString();
    expect((await runsOf(bot, { timestampFrom: future })).data).toEqual([]);
    expect((await runsOf(bot, { integrationName: 'chat' })).data).toEqual([]);
  });

  it('keeps the beginning of large inputs and outputs of a run', async () => {
    const bot = await newBot(output({ text: 'b'.repeat(9_000) }));

    await bot.client.callAction({ type: 'do', input: { text: 'a'.repeat(9_000) } });

    expect((await runsOf(bot)).data).toMatchObject([
      {
        input: { text: 'a'.repeat(500) },
        inputTruncated: true,
        output: { text: 'b'.repeat(500) },
        outputTruncated: true,
      },
    ]);
  });

  it('erases runs of actions with the bot', async () => {
    const bot = await newBot(output({}));
    await bot.client.callAction({ type: 'do', input: {} });
    const headers = { authorization: `Bearer ${api.operatorToken}` };
    const left = async () => (await api.send(`GET /operator/runtime/bots/${bot.id}/leftovers`, { headers })).json;
    expect(await left()).toMatchObject({ actionRuns: 1 });

    await account.client.deleteBot({ id: bot.id });

    await waitFor(left, (found) => (found as { actionRuns: number }).actionRuns === 0);
  });

  it('returns 404 for runs of actions of another workspace', async () => {
    const [bot, other] = await Promise.all([newBot(output({})), api.newAccount()]);
    await bot.client.callAction({ type: 'do', input: {} });

    const list = other.client.listActionRuns({ id: bot.id, integrationName: 'chat' });

    await expect(list).rejects.toMatchObject({ type: 'ResourceNotFound' });
    expect((await runsOf(bot)).data).toHaveLength(1);
  });
});
