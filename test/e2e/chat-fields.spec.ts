import type { Account, TestResponse, PublicApi, SendOptions } from '@parley/testing/public-api';
import { type Fields, wrong } from '../support/field-types';
import { startAllServices } from '../support/all-services';

const schema = { type: 'object', properties: { text: { type: 'string' } } };

let api: PublicApi;
let owner: Account;
let botId: string;
let foreign: { botId: string; userId: string; conversationId: string };
/** Id of the integration version that is installed under the alias `team`. */
let integrationId: string;
let userId: string;
let conversationId: string;
let workflowId: string;

beforeAll(async () => {
  api = await startAllServices();
  owner = await api.newAccount();
  const { integration } = await owner.client.createIntegration({
    name: 'slack',
    version: '1.0.0',
    channels: { group: { messages: { text: { schema } } } },
    states: { token: { type: 'integration', schema } },
  });
  integrationId = integration.id;
  const states = {
    facts: { type: 'bot' as const, schema },
    likes: { type: 'user' as const, schema },
    mood: { type: 'conversation' as const, schema },
  };
  botId = (await owner.client.createBot({ states })).bot.id;
  await succeed(`PUT /v1/admin/bots/${botId}`, {
    headers: { 'x-multiple-integrations': 'true' },
    json: { integrations: { team: { integrationId } } },
  });
  const client = api.client(owner.token, owner.workspaceId, botId);
  userId = (await client.createUser({ tags: {} })).user.id;
  conversationId = (await client.createConversation({ channel: 'channel', tags: {} })).conversation.id;
  workflowId = (await client.createWorkflow({ name: 'order', status: 'pending' })).workflow.id;
  foreign = await newForeign();
});

afterAll(() => api?.stop());

async function newForeign() {
  const mallory = await api.newAccount();
  const bot = (await mallory.client.createBot({})).bot.id;
  const client = api.client(mallory.token, mallory.workspaceId, bot);
  return {
    botId: bot,
    userId: (await client.createUser({ tags: {} })).user.id,
    conversationId: (await client.createConversation({ channel: 'channel', tags: {} })).conversation.id,
  };
}

function send(line: string, { headers, ...options }: SendOptions = {}): Promise<TestResponse> {
  const own = { authorization: `Bearer ${owner.token}`, 'x-bot-id': botId, 'x-workspace-id': owner.workspaceId };
  return api.send(line, { ...options, headers: { ...own, ...headers } });
}

async function succeed(line: string, options?: SendOptions) {
  const answer = await send(line, options);
  if (answer.status > 201) throw new Error(`${line} was answered with ${answer.status} ${answer.text}`);
  return answer.json;
}

function refusal(type: string, message: RegExp) {
  return expect.objectContaining({ json: expect.objectContaining({ type, message: expect.stringMatching(message) }) });
}

/** Context headers that do not change the answer of the tested operations. */
const contexts: [string, () => Record<string, string>][] = [
  ['none', () => ({})],
  ['x-integration-id', () => ({ 'x-integration-id': integrationId })],
  ['x-integration-alias', () => ({ 'x-integration-alias': 'team' })],
  ['both', () => ({ 'x-integration-alias': 'team', 'x-integration-id': integrationId })],
];

function describeHeaders(line: () => string, json: object): void {
  it('requires a bot, a token and an installation of the caller', async () => {
    const ask = (headers: Record<string, string>) => api.send(line(), { headers, json });
    const authorization = `Bearer ${owner.token}`;
    const others: Record<string, string>[] = [
      { 'x-bot-id': foreign.botId },
      { 'x-bot-id': 'none' },
      { 'x-integration-alias': 'none' },
      { 'x-integration-id': 'intver_none' },
    ];

    expect(await ask({ authorization })).toEqual(refusal('InvalidPayload', /x-bot-id is missing/));
    expect(await ask({ 'x-bot-id': botId })).toMatchObject({ status: 401, json: { type: 'Unauthorized' } });
    for (const headers of others)
      expect(await send(line(), { headers, json })).toMatchObject({
        status: 403,
        json: { type: 'Forbidden' },
      });
  });
}

describe('updating the payload of a state', () => {
  const stateFields: Fields = { string: 'id botId name type', 'date-time': 'createdAt updatedAt', object: 'payload' };
  const json = { payload: { text: 'blue' } };

  const owners: [string, string, () => string, Record<string, () => string>][] = [
    ['conversation', 'mood', () => conversationId, { conversationId: () => conversationId }],
    ['user', 'likes', () => userId, { userId: () => userId }],
    ['bot', 'facts', () => botId, {}],
    ['integration', 'token', () => integrationId, {}],
    ['workflow', 'anything', () => workflowId, {}],
  ];

  it.each(owners)(
    'returns the declared type in every field for an updated state of a %s',
    async (type, name, id, further) => {
      const { state } = await succeed(`PATCH /v1/chat/states/${type}/${id()}/${name}`, { json });

      expect(wrong(state, stateFields)).toEqual([]);
      expect(state).toMatchObject({ botId, type, name, payload: { text: 'blue' } });
      for (const [field, value] of Object.entries(further)) expect(state).toMatchObject({ [field]: value() });
    },
  );

  it('merges an updated payload of a state with the stored one', async () => {
    const line = `PATCH /v1/chat/states/workflow/${workflowId}/merged`;
    await succeed(line, { json: { payload: { a: 1, b: { c: 2 }, d: 3 } } });

    const { state } = await succeed(line, { json: { payload: { b: { e: 4 }, d: null, f: 5 } } });

    expect(state.payload).toEqual({ a: 1, b: { e: 4 }, f: 5 });
  });

  it('refuses an updated payload of a state that does not match the schema', async () => {
    const answer = await send(`PATCH /v1/chat/states/bot/${botId}/facts`, { json: { payload: { text: 7 } } });

    expect(answer).toEqual(refusal('InvalidDataFormat', /text/));
  });

  it.each(owners.map(([type, name]) => [type, name]))(
    'returns 404 for a state with the id of an unknown or foreign %s',
    async (type, name) => {
      for (const id of ['none', foreign.userId, foreign.conversationId, foreign.botId]) {
        const answer = await send(`PATCH /v1/chat/states/${type}/${id}/${name}`, { json });

        expect(answer).toMatchObject({ status: 404, json: { type: 'ResourceNotFound' } });
      }
    },
  );

  it.each([
    ['bot', 'likes', () => botId],
    ['user', 'facts', () => userId],
    ['conversation', 'none', () => conversationId],
    ['integration', 'none', () => integrationId],
  ])('returns 404 for a state with a name that is not declared for a %s', async (type, name, id) => {
    expect(await send(`PATCH /v1/chat/states/${type}/${id()}/${name}`, { json })).toMatchObject({
      status: 404,
      json: { type: 'ResourceNotFound', message: expect.stringContaining(name) },
    });
  });

  it('updates the payload of a state for the integration that owns it', async () => {
    const headers = { 'x-integration-alias': 'team' };

    const { state } = await succeed(`PATCH /v1/chat/states/integration/${integrationId}/token`, { headers, json });

    expect(state).toMatchObject({ type: 'integration', name: 'token', payload: { text: 'blue' } });
  });

  describeHeaders(() => `PATCH /v1/chat/states/bot/${botId}/facts`, json);
});

describe('creating a user', () => {
  const userFields: Fields = {
    string: 'id name pictureUrl',
    'date-time': 'createdAt updatedAt',
    object: 'tags properties attributes',
  };
  const whole = {
    tags: { plan: 'gold' },
    name: 'x'.repeat(200),
    pictureUrl: `https://example.com/${'x'.repeat(39_980)}`,
    properties: { city: 'Rome' },
  };

  it.each(contexts)(
    'returns a user with the declared type in every field, with the headers: %s',
    async (_which, headers) => {
      const { user } = await succeed('POST /v1/chat/users', { headers: headers(), json: whole });

      expect(wrong(user, userFields)).toEqual([]);
      expect(user).toMatchObject({ ...whole, attributes: whole.properties });
    },
  );

  it('creates a user with attributes as properties and integrationName, and ignores unknown fields', async () => {
    const json = { tags: {}, integrationName: 'team', attributes: { city: 'Rome' }, unknown: 1 };

    const { user } = await succeed('POST /v1/chat/users', { json });

    expect(user).toMatchObject({ properties: { city: 'Rome' }, attributes: { city: 'Rome' } });
  });

  describeHeaders(() => 'POST /v1/chat/users', { tags: {} });
});

describe('creating a conversation', () => {
  const conversationFields: Fields = {
    string: 'id channel integration',
    'date-time': 'createdAt updatedAt',
    object: 'tags',
    number: 'messageCount',
  };

  it.each(contexts)(
    'returns a conversation with the declared type in every field, with the headers: %s',
    async (_which, headers) => {
      const { conversation } = await succeed('POST /v1/chat/conversations', {
        headers: headers(),
        json: { channel: 'group', tags: { topic: 'tea' } },
      });

      expect(wrong(conversation, conversationFields)).toEqual([]);
      expect(conversation).toMatchObject({
        channel: 'group',
        integration: 'team',
        tags: { topic: 'tea' },
        messageCount: 0,
      });
    },
  );

  it('shows the ids of the current task and workflow of a conversation', async () => {
    const client = api.client(owner.token, owner.workspaceId, botId);
    const { id } = (await succeed('POST /v1/chat/conversations', { json: { channel: 'group', tags: {} } }))
      .conversation;
    await client.updateConversation({ id, currentTaskId: 'task_1' });
    const { workflow } = await client.createWorkflow({ name: 'order', status: 'pending', conversationId: id });

    const { conversation } = await client.getConversation({ id });

    expect(conversation).toMatchObject({ currentTaskId: 'task_1', currentWorkflowId: workflow.id });
  });

  it('creates a conversation with integrationName, ignores unknown fields, and refuses an unknown channel', async () => {
    const json = { channel: 'group', tags: {}, integrationName: 'slack', unknown: 1 };

    expect((await send('POST /v1/chat/conversations', { json })).status).toBe(201);
    expect(await send('POST /v1/chat/conversations', { json: { channel: 'fax', tags: {} } })).toEqual(
      refusal('InvalidPayload', /^channel "fax" not found .* Available: /),
    );
  });

  describeHeaders(() => 'POST /v1/chat/conversations', { channel: 'group', tags: {} });
});

describe('creating a message through the chat endpoint', () => {
  const messageFields: Fields = { string: 'id userId conversationId', 'date-time': 'createdAt', object: 'payload' };

  let path: string;
  let key: string;
  let conversation: string;

  beforeAll(async () => {
    const { bot } = await owner.client.getBot({ id: botId });
    const chat = Object.values(bot.integrations).find(({ name }) => name === 'chat')!;
    path = `/chat/${chat.webhookId}`;
    key = (await api.send(`POST ${path}/users`, { json: {} })).json.key;
    const made = await api.send(`POST ${path}/conversations`, { headers: { 'x-user-key': key }, json: {} });
    conversation = made.json.conversation.id;
  });

  const text = { type: 'text', text: 'hello' };

  function post(body: object, headers: Record<string, string> = { 'x-user-key': key }) {
    return api.send(`POST ${path}/messages`, { headers, json: body });
  }

  it.each([
    ['text', text],
    ['audio', { type: 'audio', audioUrl: 'https://example.com/a.mp3' }],
  ])(
    'returns a message of type %s with the declared type in every field, without an Authorization header',
    async (_type, payload) => {
      const { status, json } = await post({ payload, conversationId: conversation });

      expect(status).toBe(201);
      expect(wrong(json.message, messageFields)).toEqual([]);
      expect(json.message).toMatchObject({ payload, conversationId: conversation });
    },
  );

  it.each([
    ['missing', {}],
    ['forged', { 'x-user-key': 'eyJhbGciOiJIUzI1NiJ9.eyJpZCI6IngifQ.c2ln' }],
    ['a token of the owner', { 'x-user-key': 'bp_pat_none' }],
  ])('refuses to create a message with a user key that is %s', async (_case, headers) => {
    const answer = await post({ payload: text, conversationId: conversation }, headers);

    expect(answer).toMatchObject({ status: 401, json: { type: 'Unauthorized' } });
  });

  it('returns 404 for a message to an unknown webhook path', async () => {
    const answer = await api.send('POST /chat/none/messages', {
      headers: { 'x-user-key': key },
      json: { payload: text, conversationId: conversation },
    });

    expect(answer).toMatchObject({ status: 404, json: { type: 'ResourceNotFound' } });
  });
});
