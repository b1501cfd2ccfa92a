import type { Account, TestResponse, PublicApi, SendOptions } from '@parley/testing/public-api';
import { type Fields, wrong } from '../support/field-types';
import { startAllServices } from '../support/all-services';

let api: PublicApi;
let owner: Account;

beforeAll(async () => {
  api = await startAllServices();
  owner = await api.newAccount();
});

afterAll(() => api?.stop());

function send(line: string, { headers, ...options }: SendOptions = {}): Promise<TestResponse> {
  const own = { authorization: `Bearer ${owner.token}`, 'x-workspace-id': owner.workspaceId };
  return api.send(line, { ...options, headers: { ...own, ...headers } });
}

async function succeed(line: string, options?: SendOptions) {
  const answer = await send(line, options);
  if (answer.status !== 200) throw new Error(`${line} was answered with ${answer.status} ${answer.text}`);
  return answer.json;
}

/** Account with two workspaces: its requests must carry `x-workspace-id`. */
async function accountOfTwo(): Promise<Account> {
  const account = await api.newAccount();
  await account.client.createWorkspace({ name: 'second' });
  return account;
}

function refusal(type: string, message: RegExp) {
  return expect.objectContaining({ json: expect.objectContaining({ type, message: expect.stringMatching(message) }) });
}

const optionalHeaders: Record<string, string>[] = [{}, { 'x-multiple-integrations': 'true' }];

const schema = { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false };
const tags = { order: { title: 'Order', description: 'Number of the order' } };
const action = {
  title: 'Brew',
  description: 'Makes tea',
  billable: true,
  cacheable: false,
  input: { schema },
  output: { schema },
};
const event = { title: 'Boiled', description: 'The water boils', schema };

async function newIntegration(version = '1.0.0', change: object = {}) {
  return (
    await succeed('POST /v1/admin/integrations', {
      json: { name: 'kettle', version, visibility: 'public', ...everything, ...change },
    })
  ).integration;
}

const everything = {
  title: 'Kettle',
  description: 'Boils water',
  url: 'http://127.0.0.1:8080/kettle',
  icon: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64'),
  readme: Buffer.from('# Kettle').toString('base64'),
  identifier: { fallbackHandlerScript: 'fallback', extractScript: 'extract' },
  sandbox: { identifierExtractScript: 'identifier', messageExtractScript: 'message' },
  configuration: {
    title: 'Settings',
    description: 'Of it',
    schema,
    identifier: { required: false, linkTemplateScript: 'link' },
  },
  configurations: {
    manual: {
      title: 'By hand',
      description: 'Without a plug',
      schema,
      identifier: { required: true, linkTemplateScript: 'link' },
    },
  },
  channels: {
    steam: {
      title: 'Steam',
      description: 'Signals',
      messages: { text: { schema } },
      conversation: { tags, creation: { enabled: true, requiredTags: ['order'] } },
      message: { tags },
    },
  },
  states: { level: { type: 'integration', schema } },
  events: { boiled: event },
  actions: { brew: action },
  entities: { cup: { title: 'Cup', description: 'Of tea', schema } },
  user: { tags, creation: { enabled: true, requiredTags: ['order'] } },
  secrets: { PASSWORD: 'hush' },
  maxExecutionTime: 30,
  attributes: { category: 'kitchen' },
};

/** Fields that are answered differently than sent, or never answered. */
const { icon: _icon, readme: _readme, secrets: _secrets, ...answeredAsSent } = everything;

const botFields: Fields = {
  string: 'id signingSecret name status medias.0.url medias.0.name description createdBy',
  'date-time': 'createdAt updatedAt deployedAt',
  object:
    'integrations plugins user user.tags conversation conversation.tags message message.tags states configuration configuration.data configuration.schema events recurringEvents subscriptions subscriptions.events actions tags',
  boolean: 'dev alwaysAlive',
  'string[]': 'secrets',
  'object[]': 'medias',
  integer: 'maxExecutionTime',
};

const boiled = { schedule: { cron: '0 * * * *' }, type: 'boiled', payload: { text: 'x' } };

/** Fields of a bot that are answered exactly as sent. */
const shownAsSent = {
  configuration: { data: { text: 'x' }, schema },
  tags: { color: 'green' },
  maxExecutionTime: 60,
  alwaysAlive: true,
  user: { tags },
  message: { tags },
  conversation: { tags },
  events: { boiled: event },
  actions: { brew: action },
  states: { level: { type: 'bot', schema, expiry: 1000 } },
  subscriptions: { events: { boiled: {} } },
  name: 'x',
  description: 'x'.repeat(2000),
  medias: [{ url: 'https://example.com/a.png', name: 'a' }],
};

/** Fields of a bot that are stored but never answered. */
const keptInside = { url: 'http://127.0.0.1:8080/bot', authentication: 'iam', layers: ['a', 'b'], blocked: true };

describe('a bot with every field', () => {
  let id: string;
  let integrationId: string;
  let pluginId: string;
  let updated: Record<string, unknown>;
  const path = () => `/v1/admin/bots/${id}`;
  const methods = [
    ['GET', {}],
    ['PUT', { json: {} }],
  ] as const;

  beforeAll(async () => {
    integrationId = (await newIntegration('0.1.0')).id;
    pluginId = (
      await owner.client.createPlugin({ name: 'helper', version: '1.0.0', code: { node: 'node', browser: 'browser' } })
    ).plugin.id;
    id = (await owner.client.createBot({})).bot.id;
    updated = await succeed(`PUT ${path()}`, {
      headers: { 'x-multiple-integrations': 'true' },
      json: {
        ...shownAsSent,
        ...keptInside,
        recurringEvents: { hourly: boiled },
        secrets: { API_KEY_2: 'hush' },
        code: 'exports.handler = () => ({ status: 200 })',
        integrations: { first: { integrationId, enabled: true, configuration: { text: 'x' } } },
        plugins: { helper: { id: pluginId, enabled: true, configuration: {} } },
      },
    });
  });

  it('stores each field of a bot', async () => {
    const { bot } = await succeed(`GET ${path()}`, { headers: { 'x-multiple-integrations': 'true' } });
    const { versions } = await succeed(`GET ${path()}/versions`);
    const { url } = await succeed(`GET ${path()}/versions/${versions[0].id}`);

    expect(updated).toEqual({ bot });
    expect(bot).toMatchObject({
      ...shownAsSent,
      recurringEvents: { hourly: { ...boiled, failedAttempts: 0, lastFailureReason: null } },
      secrets: ['API_KEY_2'],
      plugins: { helper: { id: pluginId, enabled: true, configuration: {} } },
      status: 'active',
    });
    expect(await api.sql('SELECT url, authentication, layers, blocked FROM admin.bot WHERE id = $1', [id])).toEqual([
      keptInside,
    ]);
    expect((await send(`GET ${url.slice(new URL(url).origin.length)}`)).text).toBe(
      'exports.handler = () => ({ status: 200 })',
    );
  });

  it.each(methods)(
    'returns a bot with the declared type in every field of the answer to %s',
    async (method, options) => {
      const answer = await succeed(`${method} ${path()}`, options);

      expect(Object.keys(answer)).toEqual(['bot']);
      expect(wrong(answer.bot, botFields)).toEqual([]);
    },
  );

  it.each(methods)(
    'uses aliases as keys of integrations in the answer to %s with x-multiple-integrations: true',
    async (method, options) => {
      const ask = (headers: Record<string, string>) => succeed(`${method} ${path()}`, { ...options, headers });

      const byAlias = (await ask({ 'x-multiple-integrations': 'true' })).bot.integrations;
      const byId = (await ask({})).bot.integrations;

      expect(Object.keys(byAlias).sort()).toEqual(['chat', 'first']);
      expect(Object.keys(byId).sort()).toEqual([byAlias.chat.id, integrationId].sort());
      expect(byId[integrationId]).toEqual(byAlias.first);
      expect(byAlias.first).toMatchObject({ id: integrationId, enabled: true, configuration: { text: 'x' } });
    },
  );

  it('keeps omitted fields of a bot, accepts shouldMergePlugins and ignores unknown fields', async () => {
    const before = (await succeed(`GET ${path()}?shouldMergePlugins=true`)).bot;

    const { bot } = await succeed(`PUT ${path()}`, { json: { shouldMergePlugins: true, future: { a: 1 } } });

    expect(bot).toEqual({ ...before, updatedAt: expect.any(String) });
  });

  it.each(methods)(
    'requires for %s x-workspace-id with several workspaces, and returns 404 for an unknown bot',
    async (method, options) => {
      const headers = { authorization: `Bearer ${(await accountOfTwo()).token}` };

      expect(await api.send(`${method} ${path()}`, { ...options, headers })).toEqual(
        refusal('InvalidPayload', /x-workspace-id/),
      );
      expect(await send(`${method} /v1/admin/bots/none`, options)).toEqual(refusal('ResourceNotFound', /"none"/));
    },
  );
});

const summaryFields: Fields = {
  string: 'id name version title description iconUrl visibility lifecycleStatus ownerWorkspace.id ownerWorkspace.name',
  'date-time': 'createdAt updatedAt',
  boolean: 'public',
  'unapproved, pending, approved or rejected': 'verificationStatus',
  object: 'ownerWorkspace meta attributes',
  'string or null': 'ownerWorkspace.handle',
  number: 'meta.installs meta.views',
};

const integrationFields: Fields = {
  object:
    'identifier interfaces configuration configuration.identifier configuration.schema configurations channels states events actions user user.tags user.creation entities sandbox',
  string:
    'identifier.fallbackHandlerScript identifier.extractScript url signingSecret configuration.identifier.linkTemplateScript configuration.title configuration.description readmeUrl sandbox.identifierExtractScript sandbox.messageExtractScript',
  boolean: 'configuration.identifier.required user.creation.enabled dev',
  'string[]': 'user.creation.requiredTags secrets',
  number: 'maxExecutionTime',
};

describe('an integration with every field', () => {
  let integration: Record<string, unknown>;
  let interfaceId: string;

  beforeAll(async () => {
    const drawer = await owner.client.createInterface({
      name: 'drawer',
      version: '1.0.0',
      public: true,
      actions: { open: { input: { schema }, output: { schema } } },
    });
    interfaceId = drawer.interface.id;
    integration = await newIntegration('1.0.0', {
      interfaces: { drawer: { id: interfaceId, actions: { open: { name: 'brew' } } } },
    });
  });

  it('returns an integration to its workspace as it was sent', async () => {
    const read = (await succeed(`GET /v1/admin/integrations/${String(integration['id'])}`)).integration;

    expect(read).toMatchObject({
      ...answeredAsSent,
      name: 'kettle',
      version: '1.0.0',
      public: true,
      visibility: 'public',
    });
    expect(read.secrets).toEqual(['PASSWORD']);
    expect(read.interfaces.drawer).toMatchObject({ id: interfaceId, actions: { open: { name: 'brew' } } });
    expect(integration['signingSecret']).toMatch(/./);
  });

  describe('in the hub', () => {
    const list = (query = '', headers: Record<string, string> = {}) =>
      succeed(`GET /v1/admin/hub/integrations${query}`, { headers });
    it.each(optionalHeaders)('returns an integration of the hub in full by id, with headers %j', async (headers) => {
      const answer = await succeed(`GET /v1/admin/hub/integrations/${String(integration['id'])}`, { headers });

      expect(Object.keys(answer)).toEqual(['integration']);
      expect(wrong(answer.integration, summaryFields, integrationFields)).toEqual([]);
      const { url: _url, ...shown } = answeredAsSent;
      expect(answer.integration).toMatchObject(shown);
    });

    it('returns 404 for an integration of the hub with an unknown id', async () => {
      expect(await send('GET /v1/admin/hub/integrations/none')).toEqual(refusal('ResourceNotFound', /"none"/));
    });

    it.each(optionalHeaders)(
      'lists integrations of the hub with the declared type in every field, with headers %j',
      async (headers) => {
        const answer = await list('?name=kettle&version=1.0.0', headers);

        expect(Object.keys(answer).sort()).toEqual(['integrations', 'meta']);
        expect(wrong(answer.integrations[0], summaryFields)).toEqual([]);
        expect(answer.integrations[0]).not.toHaveProperty('matchedOn');
      },
    );

    it('refuses an invalid nextToken of integrations of the hub', async () => {
      expect(await send('GET /v1/admin/hub/integrations?nextToken=x')).toEqual(refusal('InvalidQuery', /^nextToken/));
    });
  });
});

const workspaceFields: Fields = {
  string: 'id name ownerId handle billingVersion plan about profilePicture contactEmail website',
  'string or null': 'activeTrialId',
  'date-time': 'createdAt updatedAt',
  number: 'botCount spendingLimit',
  boolean: 'blocked isPublic',
  'string[]': 'socialAccounts',
};

describe('a workspace', () => {
  let account: Account;
  const given = {
    name: 'Tea house',
    handle: 'tea-house',
    about: 'We make tea',
    profilePicture: 'https://example.com/tea.png',
    contactEmail: 'tea@example.com',
    website: 'https://example.com',
    socialAccounts: ['https://example.com/social'],
    isPublic: true,
  };
  const list = (query = '', headers: Record<string, string> = {}) =>
    succeed(`GET /v1/admin/workspaces${query}`, { headers: { authorization: `Bearer ${account.token}`, ...headers } });

  beforeAll(async () => {
    account = await api.newAccount();
    await account.client.createWorkspace({ name: 'Second' });
  });

  it('returns empty strings and lists by default for a workspace', async () => {
    const { workspaces } = await list();

    for (const workspace of workspaces) {
      expect(workspace).toMatchObject({
        about: '',
        profilePicture: '',
        contactEmail: '',
        website: '',
        socialAccounts: [],
      });
    }
  });

  it.each(optionalHeaders)(
    'lists public workspaces with the declared type in every field, with headers %j',
    async (headers) => {
      await account.client.updateWorkspace({ id: account.workspaceId, ...given });

      const answer = await list('?handle=tea-house', headers);

      expect(Object.keys(answer).sort()).toEqual(['meta', 'workspaces']);
      expect(answer.workspaces).toEqual([expect.objectContaining({ id: account.workspaceId, ...given })]);
      expect(wrong(answer.workspaces[0], workspaceFields)).toEqual([]);
      expect(answer.workspaces[0]).toMatchObject({ billingVersion: 'v1', plan: 'community' });
    },
  );

  it('pages public workspaces, and filters them by handle', async () => {
    const first = await list('?pageSize=1');
    const second = await list(`?pageSize=1&nextToken=${encodeURIComponent(first.meta.nextToken)}`);

    expect(new Set([...first.workspaces, ...second.workspaces].map(({ id }: { id: string }) => id)).size).toBe(2);
    expect(second.meta.nextToken).toBeUndefined();
    expect((await list('?handle=coffee-house')).workspaces).toEqual([]);
  });
});

describe('inserting rows into a table', () => {
  const line = 'POST /v1/tables/goods/rows';
  let botId: string;
  let integrationId: string;
  let integrationKey: string;
  let userId: string;

  beforeAll(async () => {
    integrationId = (await succeed('POST /v1/admin/integrations', { json: { name: 'till', version: '1.0.0' } }))
      .integration.id;
    integrationKey = (await succeed('POST /v1/admin/integrations/iaks', { json: { integrationId } })).value;
    const { bot } = await succeed('POST /v1/admin/bots', { json: { name: 'shop' } });
    botId = bot.id;
    const asBot = api.client(owner.token, owner.workspaceId, botId);
    userId = (await asBot.createUser({ tags: {} })).user.id;
    await succeed(`PUT /v1/admin/bots/${botId}`, {
      headers: { 'x-multiple-integrations': 'true' },
      json: { integrations: { front: { integrationId, enabled: true } } },
    });
    await succeed('POST /v1/tables', {
      headers: { 'x-bot-id': botId },
      json: {
        name: 'goods',
        schema: { type: 'object', properties: { name: { type: 'string' }, price: { type: 'number' } } },
      },
    });
  });

  function insert(json: unknown, headers: Record<string, string> = {}) {
    return send(line, { headers: { 'x-bot-id': botId, ...headers }, json });
  }

  it('returns an inserted row with the declared type in every field', async () => {
    const { json, status } = await insert({ rows: [{ name: 'cup', price: 3 }] });

    expect(status).toBe(200);
    expect(
      wrong(json.rows[0], {
        number: 'id price',
        object: 'computed',
        'date-time': 'createdAt updatedAt',
        string: 'name',
      }),
    ).toEqual([]);
    expect(json).not.toHaveProperty('warnings');
    expect(json).not.toHaveProperty('errors');
  });

  it('inserts 1000 rows', async () => {
    const { json } = await insert({ rows: Array.from({ length: 1000 }, (_entry, price) => ({ price })) });

    expect(json.rows).toHaveLength(1000);
  });

  it('inserts rows with warnings, and refuses rows with errors', async () => {
    const { json, status } = await insert({
      rows: [{ name: 'pot', colour: 'red' }, { name: 1 }, { id: 7 }, { price: 'cheap', name: 'pan' }, { name: 'lid' }],
    });

    expect(status).toBe(200);
    expect(json.rows.map(({ name }: { name: string }) => name)).toEqual(['pot', 'lid']);
    expect(json.warnings).toEqual([expect.stringMatching(/^Row 0: colour .*ignored/)]);
    expect(json.errors).toEqual([
      expect.stringMatching(/^Row 1: .*name/),
      expect.stringMatching(/^Row 2: .*id/),
      expect.stringMatching(/^Row 3: .*price/),
    ]);
  });

  it('accepts waitComputed for inserted rows, and the headers for integration, user and role', async () => {
    const headers: Record<string, string>[] = [
      { 'x-integration-id': integrationId },
      { 'x-integration-alias': 'front' },
      { 'x-integration-name': 'front' },
      { 'x-user-id': userId },
      { 'x-user-role': 'manager' },
    ];

    const answers = await Promise.all(headers.map((each) => insert({ rows: [{}], waitComputed: true }, each)));

    expect(answers.map(({ status }) => status)).toEqual(headers.map(() => 200));
  });

  it('accepts the key of an installed integration to insert rows, and no other integration key', async () => {
    const stranger = (await succeed('POST /v1/admin/integrations', { json: { name: 'rival', version: '1.0.0' } }))
      .integration.id;
    const { value } = await succeed('POST /v1/admin/integrations/iaks', { json: { integrationId: stranger } });
    const as = (token: string) => insert({ rows: [{}] }, { authorization: `Bearer ${token}` });

    expect((await as(integrationKey)).status).toBe(200);
    expect(await as(value)).toEqual(refusal('Forbidden', /x-bot-id/));
  });

  it('requires x-bot-id to insert rows, and finds only tables of that bot, by name or id', async () => {
    const { bot } = await succeed('POST /v1/admin/bots', { json: { name: 'other' } });
    const { table } = await succeed('GET /v1/tables/goods', { headers: { 'x-bot-id': botId } });
    const into = (name: string, headers: Record<string, string>) =>
      send(`POST /v1/tables/${name}/rows`, { headers, json: { rows: [{}] } });

    expect(await into('goods', {})).toEqual(refusal('InvalidPayload', /x-bot-id/));
    expect((await into(table.id, { 'x-bot-id': botId })).status).toBe(200);
    for (const name of ['none', 'Goods', 'table_none']) {
      expect(await into(name, { 'x-bot-id': botId })).toEqual(refusal('ResourceNotFound', /The table "/));
    }
    for (const name of ['goods', table.id]) {
      expect(await into(name, { 'x-bot-id': bot.id })).toEqual(refusal('ResourceNotFound', /The table "/));
    }
  });

  it('refuses a body of rows over the size limit', async () => {
    const rows = Array.from({ length: 1000 }, () => ({ name: 'x'.repeat(17_000) }));

    expect(await insert({ rows })).toEqual(refusal('PayloadTooLarge', /16000000 bytes/));
  });
});
