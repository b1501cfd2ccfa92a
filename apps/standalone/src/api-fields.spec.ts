import type { Account, Answer, FrontDoor, SendOptions } from '@parley/testing/front-door';
import { type Type, types, wrong } from './test/field-types';
import { startWholeDoor } from './test/whole-door';

let door: FrontDoor;
let owner: Account;

beforeAll(async () => {
  door = await startWholeDoor();
  owner = await door.newAccount();
});

afterAll(() => door?.stop());

/** A request of the owner in their workspace. */
function send(line: string, { headers, ...options }: SendOptions = {}): Promise<Answer> {
  const own = { authorization: `Bearer ${owner.token}`, 'x-workspace-id': owner.workspaceId };
  return door.send(line, { ...options, headers: { ...own, ...headers } });
}

async function succeed(line: string, options?: SendOptions) {
  const answer = await send(line, options);
  if (answer.status !== 200) throw new Error(`${line} was answered with ${answer.status} ${answer.text}`);
  return answer.json;
}

/** Who has to say which of two workspaces is meant. */
async function accountOfTwo(): Promise<Account> {
  const account = await door.newAccount();
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

/** One in every part, and public. */
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

/** What is sent as something else than it is answered, or to nobody. */
const { icon: _icon, readme: _readme, secrets: _secrets, ...answeredAsSent } = everything;

const botFields: Record<string, Type> = {
  id: 'string',
  createdAt: 'date-time',
  updatedAt: 'date-time',
  signingSecret: 'string',
  integrations: 'object',
  plugins: 'object',
  user: 'object',
  'user.tags': 'object',
  conversation: 'object',
  'conversation.tags': 'object',
  message: 'object',
  'message.tags': 'object',
  states: 'object',
  configuration: 'object',
  'configuration.data': 'object',
  'configuration.schema': 'object',
  events: 'object',
  recurringEvents: 'object',
  subscriptions: 'object',
  'subscriptions.events': 'object',
  actions: 'object',
  tags: 'object',
  name: 'string',
  dev: 'boolean',
  secrets: 'string[]',
  alwaysAlive: 'boolean',
  status: 'string',
  medias: 'object[]',
  'medias.0.url': 'string',
  'medias.0.name': 'string',
  maxExecutionTime: 'integer',
  description: 'string',
  deployedAt: 'date-time',
  createdBy: 'string',
};

/** Each field of the body, a value, and how the bot then shows it; what it does not show is a column of its row. */
const botChanges: [field: string, sent: unknown, shown: { field?: string; column?: string; value: unknown }][] = [
  ['url', 'http://127.0.0.1:8080/bot', { column: 'url', value: 'http://127.0.0.1:8080/bot' }],
  ['url', null, { column: 'url', value: null }],
  ['authentication', 'iam', { column: 'authentication', value: 'iam' }],
  ['authentication', 'hmac-sha256', { column: 'authentication', value: 'hmac-sha256' }],
  ['configuration', { data: { text: 'x' }, schema }, { value: { data: { text: 'x' }, schema } }],
  ['tags', { color: 'green' }, { value: { color: 'green' } }],
  ['blocked', true, { column: 'blocked', value: true }],
  ['maxExecutionTime', 60, { value: 60 }],
  ['alwaysAlive', true, { value: true }],
  ['user', { tags }, { value: { tags } }],
  ['message', { tags }, { value: { tags } }],
  ['conversation', { tags }, { value: { tags } }],
  ['events', { boiled: event }, { value: { boiled: event } }],
  ['actions', { brew: action }, { value: { brew: action } }],
  [
    'states',
    { level: { type: 'bot', schema, expiry: 1000 } },
    { value: { level: { type: 'bot', schema, expiry: 1000 } } },
  ],
  [
    'recurringEvents',
    { hourly: { schedule: { cron: '0 * * * *' }, type: 'boiled', payload: { text: 'x' } } },
    {
      value: {
        hourly: {
          schedule: { cron: '0 * * * *' },
          type: 'boiled',
          payload: { text: 'x' },
          failedAttempts: 0,
          lastFailureReason: null,
        },
      },
    },
  ],
  ['subscriptions', { events: { boiled: {} } }, { value: { events: { boiled: {} } } }],
  ['name', 'x', { value: 'x' }],
  ['description', 'x'.repeat(2000), { value: 'x'.repeat(2000) }],
  [
    'medias',
    [{ url: 'https://example.com/a.png', name: 'a' }],
    { value: [{ url: 'https://example.com/a.png', name: 'a' }] },
  ],
  ['secrets', { API_KEY_2: 'hush' }, { value: ['API_KEY_2'] }],
  ['layers', ['a', 'b'], { column: 'layers', value: ['a', 'b'] }],
];

/** Values beyond a stated limit or of another type, with what the answer says. */
const badBotChanges: [field: string, sent: unknown, message: RegExp][] = [
  ['url', 1, /^url must/],
  ['authentication', 'basic', /^authentication must be one of/],
  ['configuration', [], /^configuration must/],
  ['configuration', { data: 1 }, /^configuration\.data must/],
  ['tags', { a: 1 }, /^tags has an entry "a"/],
  ['blocked', 'yes', /^blocked must/],
  ['maxExecutionTime', 1.5, /^maxExecutionTime must be an integer/],
  ['alwaysAlive', 1, /^alwaysAlive must/],
  ['user', { tags: [] }, /^user\.tags must/],
  ['message', 'x', /^message must/],
  ['conversation', { tags: 1 }, /^conversation\.tags must/],
  ['events', [], /^events must/],
  ['actions', { a: 1 }, /^actions has an entry "a"/],
  ['states', { s: { type: 'workflow', schema } }, /^states has an entry "s"/],
  ['recurringEvents', { r: {} }, /^recurringEvents has an entry "r"/],
  ['integrations', [], /^integrations must/],
  ['plugins', 'x', /^plugins must/],
  ['subscriptions', { events: 1 }, /^subscriptions\.events must/],
  ['code', {}, /^code must/],
  ['name', '', /^name must be longer than or equal to 1/],
  ['description', 'x'.repeat(2001), /^description must be shorter than or equal to 2000/],
  ['medias', [{ url: 'x' }], /^medias\[0\]\.name is missing/],
  ['secrets', { camelCase: 'x' }, /^secrets has a name "camelCase"/],
  ['layers', 'a', /^layers must/],
];

describe('updating a bot', () => {
  let id: string;
  const path = () => `/v1/admin/bots/${id}`;

  beforeAll(async () => {
    id = (await owner.client.createBot({})).bot.id;
  });

  it.each(botChanges)('takes %s and keeps it', async (field, sent, { column, value }) => {
    const { bot, ...others } = await succeed(`PUT ${path()}`, { json: { [field]: sent } });

    const read = await succeed(`GET ${path()}`);
    const [row] = await door.sql<Record<string, unknown>>(`SELECT * FROM admin.bot WHERE id = $1`, [id]);
    expect(others).toEqual({});
    expect(column ? row![column] : bot[field]).toEqual(value);
    expect(read.bot).toEqual(bot);
  });

  it('takes code and keeps it as the newest version', async () => {
    const { bot } = await succeed(`PUT ${path()}`, { json: { code: 'module.exports = 1' } });

    const { versions } = await succeed(`GET ${path()}/versions`);
    const { url } = await succeed(`GET ${path()}/versions/${versions[0].id}`);
    expect((await send(`GET ${url.slice(new URL(url).origin.length)}`)).text).toBe('module.exports = 1');
    expect(types['date-time'](bot.deployedAt)).toBe(true);
  });

  it.each(badBotChanges)('refuses a bad %s and changes nothing', async (field, sent, message) => {
    const before = await succeed(`GET ${path()}`);

    const refused = await send(`PUT ${path()}`, { json: { name: 'other', [field]: sent } });

    expect(refused).toEqual(refusal('InvalidPayload', message));
    expect(await succeed(`GET ${path()}`)).toEqual(before);
  });

  it('keeps all that is omitted, and takes shouldMergePlugins and what it does not know without a word', async () => {
    const before = (await succeed(`GET ${path()}`)).bot;

    const { bot } = await succeed(`PUT ${path()}`, { json: { shouldMergePlugins: true, future: { a: 1 } } });

    expect(bot).toEqual({ ...before, updatedAt: expect.any(String) });
  });

  it('needs x-workspace-id where the account has several, and a bot that is there', async () => {
    const headers = { authorization: `Bearer ${(await accountOfTwo()).token}` };

    expect(await door.send(`PUT ${path()}`, { headers, json: {} })).toEqual(
      refusal('InvalidPayload', /x-workspace-id/),
    );
    expect(await send('PUT /v1/admin/bots/none', { json: {} })).toEqual(refusal('ResourceNotFound', /"none"/));
  });
});

describe('a bot with everything', () => {
  let id: string;
  let integrationId: string;
  let pluginId: string;

  beforeAll(async () => {
    integrationId = (await newIntegration('0.1.0')).id;
    pluginId = (
      await owner.client.createPlugin({ name: 'helper', version: '1.0.0', code: { node: 'node', browser: 'browser' } })
    ).plugin.id;
    id = (await owner.client.createBot({})).bot.id;
    const fields = botChanges.filter(([field]) => !['blocked', 'url'].includes(field));
    await succeed(`PUT /v1/admin/bots/${id}`, {
      headers: { 'x-multiple-integrations': 'true' },
      json: {
        ...Object.fromEntries(fields),
        code: 'module.exports = 1',
        integrations: { first: { integrationId, enabled: true, configuration: { text: 'x' } } },
        plugins: { helper: { id: pluginId, enabled: true, configuration: {} } },
      },
    });
  });

  it.each(['GET', 'PUT'])('is answered to %s with every field in its type', async (method) => {
    const answer = await succeed(`${method} /v1/admin/bots/${id}`, method === 'PUT' ? { json: {} } : {});

    expect(Object.keys(answer)).toEqual(['bot']);
    expect(wrong(answer.bot, botFields)).toEqual([]);
    expect(answer.bot.status).toBe('active');
  });

  it.each(['GET', 'PUT'])(
    'has its integrations keyed by alias in the answer to %s with x-multiple-integrations: true',
    async (method) => {
      const options = method === 'PUT' ? { json: {} } : {};
      const ask = (headers: Record<string, string>) =>
        succeed(`${method} /v1/admin/bots/${id}`, { ...options, headers });

      const byAlias = (await ask({ 'x-multiple-integrations': 'true' })).bot.integrations;
      const byId = (await ask({})).bot.integrations;

      expect(Object.keys(byAlias).sort()).toEqual(['chat', 'first']);
      expect(Object.keys(byId).sort()).toEqual([byAlias.chat.id, integrationId].sort());
      expect(byId[integrationId]).toEqual(byAlias.first);
      expect(byAlias.first).toMatchObject({ id: integrationId, enabled: true, configuration: { text: 'x' } });
    },
  );

  it('has its plugins keyed by alias', async () => {
    const { bot } = await succeed(`GET /v1/admin/bots/${id}`);

    expect(bot.plugins).toEqual({
      helper: expect.objectContaining({ id: pluginId, enabled: true, configuration: {} }),
    });
  });

  it('takes the query shouldMergePlugins when it is read', async () => {
    const path = `GET /v1/admin/bots/${id}`;

    expect(await succeed(`${path}?shouldMergePlugins=true`)).toEqual(await succeed(path));
  });

  it('is read with x-workspace-id, and is ResourceNotFound by another id', async () => {
    const headers = { authorization: `Bearer ${(await accountOfTwo()).token}` };

    expect(await door.send(`GET /v1/admin/bots/${id}`, { headers })).toEqual(
      refusal('InvalidPayload', /x-workspace-id/),
    );
    expect(await send('GET /v1/admin/bots/none')).toEqual(refusal('ResourceNotFound', /"none"/));
  });
});

const summaryFields: Record<string, Type> = {
  id: 'string',
  name: 'string',
  version: 'string',
  createdAt: 'date-time',
  updatedAt: 'date-time',
  title: 'string',
  description: 'string',
  iconUrl: 'string',
  public: 'boolean',
  visibility: 'string',
  verificationStatus: 'unapproved, pending, approved or rejected',
  lifecycleStatus: 'string',
  ownerWorkspace: 'object',
  'ownerWorkspace.id': 'string',
  'ownerWorkspace.handle': 'string or null',
  'ownerWorkspace.name': 'string',
  meta: 'object',
  'meta.installs': 'number',
  'meta.views': 'number',
  attributes: 'object',
};

const integrationFields: Record<string, Type> = {
  ...summaryFields,
  identifier: 'object',
  'identifier.fallbackHandlerScript': 'string',
  'identifier.extractScript': 'string',
  url: 'string',
  signingSecret: 'string',
  interfaces: 'object',
  configuration: 'object',
  'configuration.identifier': 'object',
  'configuration.identifier.required': 'boolean',
  'configuration.identifier.linkTemplateScript': 'string',
  'configuration.schema': 'object',
  'configuration.title': 'string',
  'configuration.description': 'string',
  configurations: 'object',
  channels: 'object',
  states: 'object',
  events: 'object',
  actions: 'object',
  user: 'object',
  'user.tags': 'object',
  'user.creation': 'object',
  'user.creation.enabled': 'boolean',
  'user.creation.requiredTags': 'string[]',
  entities: 'object',
  dev: 'boolean',
  readmeUrl: 'string',
  secrets: 'string[]',
  sandbox: 'object',
  'sandbox.identifierExtractScript': 'string',
  'sandbox.messageExtractScript': 'string',
  maxExecutionTime: 'number',
};

describe('an integration with everything', () => {
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

  it('is kept by its workspace as it was sent', async () => {
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
    const versions = async (query: string) =>
      (await list(query)).integrations.map(
        ({ name, version }: { name: string; version: string }) => `${name} ${version}`,
      );

    beforeAll(async () => {
      await newIntegration('2.0.0-beta.1');
      const bot = await owner.client.createBot({});
      await succeed(`PUT /v1/admin/bots/${bot.bot.id}`, {
        json: { integrations: { [String(integration['id'])]: { enabled: true } } },
      });
    });

    it.each(optionalHeaders)('is shown in full by its id, with headers %j', async (headers) => {
      const answer = await succeed(`GET /v1/admin/hub/integrations/${String(integration['id'])}`, { headers });

      expect(Object.keys(answer)).toEqual(['integration']);
      expect(wrong(answer.integration, integrationFields)).toEqual([]);
      const { url: _url, ...shown } = answeredAsSent;
      expect(answer.integration).toMatchObject(shown);
    });

    it('is ResourceNotFound by another id', async () => {
      expect(await send('GET /v1/admin/hub/integrations/none')).toEqual(refusal('ResourceNotFound', /"none"/));
    });

    it.each(optionalHeaders)('is listed with every field in its type, with headers %j', async (headers) => {
      const answer = await list('?name=kettle&version=1.0.0', headers);

      expect(Object.keys(answer).sort()).toEqual(['integrations', 'meta']);
      expect(wrong(answer.integrations[0], summaryFields)).toEqual([]);
      expect(answer.integrations[0]).not.toHaveProperty('matchedOn');
    });

    it('tells where a search found it', async () => {
      const { integrations } = await list('?search=brew');

      expect(integrations[0].matchedOn).toEqual({
        name: false,
        title: false,
        description: false,
        actions: ['brew'],
        interfaces: [],
      });
    });

    it('is listed page by page', async () => {
      const first = await list('?limit=1');
      const second = await list(`?limit=1&nextToken=${encodeURIComponent(first.meta.nextToken)}`);

      expect(first.integrations).toHaveLength(1);
      expect(first.meta.nextToken).toEqual(expect.any(String));
      expect(second.integrations).toHaveLength(1);
      expect(second.integrations[0].id).not.toBe(first.integrations[0].id);
    });

    it.each([
      ['?name=kettle&version=1.0.0', ['kettle 1.0.0']],
      ['?name=kettle&version=2.0.0-beta.1', ['kettle 2.0.0-beta.1']],
      ['?name=kettle&version=latest', ['kettle 1.0.0']],
      ['?name=kettl', []],
      ['?interfaceName=drawer', ['kettle 1.0.0']],
      ['?interfaceName=drawe', []],
      ['?verificationStatus=approved&name=kettle', []],
      ['?verificationStatus=pending&name=kettle', []],
      ['?verificationStatus=rejected&name=kettle', []],
      ['?verificationStatus=unapproved&name=kettle&version=latest', ['kettle 1.0.0']],
    ])('is found or not by %s', async (query, found) => {
      expect(await versions(query)).toEqual(found);
    });

    it('is found by the id of an interface and by a bot that has it', async () => {
      const { bots } = await succeed('GET /v1/admin/bots?integrationNames=kettle');

      expect(await versions(`?interfaceId=${interfaceId}`)).toEqual(['kettle 1.0.0']);
      expect(await versions(`?installedByBotId=${bots[0].id}&name=kettle`)).toEqual(['kettle 1.0.0']);
      expect(await send('GET /v1/admin/hub/integrations?installedByBotId=none')).toEqual(
        refusal('Forbidden', /"none"/),
      );
    });

    it.each(['popularity', 'name', 'createdAt', 'updatedAt', 'installCount'])(
      'is sorted by %s in both directions',
      async (sortBy) => {
        const ascending = await versions(`?sortBy=${sortBy}&direction=asc`);
        const descending = await versions(`?sortBy=${sortBy}&direction=desc`);

        expect(ascending.length).toBeGreaterThan(1);
        expect(descending).toEqual([...ascending].reverse());
      },
    );

    it.each([
      ['limit=x', /^limit must/],
      ['limit=0', /^limit must/],
      ['verificationStatus=good', /^verificationStatus must be one of/],
      ['sortBy=size', /^sortBy must be one of/],
      ['direction=up', /^direction must be one of/],
      ['nextToken=x', /^nextToken/],
      ['name=a&name=b', /^name must be given once/],
    ])('is not looked for with %s', async (query, message) => {
      expect(await send(`GET /v1/admin/hub/integrations?${query}`)).toEqual(refusal('InvalidQuery', message));
    });
  });
});

const workspaceFields: Record<string, Type> = {
  id: 'string',
  name: 'string',
  ownerId: 'string',
  activeTrialId: 'string or null',
  handle: 'string',
  createdAt: 'date-time',
  updatedAt: 'date-time',
  botCount: 'number',
  spendingLimit: 'number',
  billingVersion: 'string',
  plan: 'string',
  blocked: 'boolean',
  isPublic: 'boolean',
  about: 'string',
  profilePicture: 'string',
  contactEmail: 'string',
  website: 'string',
  socialAccounts: 'string[]',
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
    account = await door.newAccount();
    await account.client.createWorkspace({ name: 'Second' });
  });

  it('has empty texts and lists by default', async () => {
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

  it.each(optionalHeaders)('is listed with every field in its type, with headers %j', async (headers) => {
    await account.client.updateWorkspace({ id: account.workspaceId, ...given });

    const answer = await list('?handle=tea-house', headers);

    expect(Object.keys(answer).sort()).toEqual(['meta', 'workspaces']);
    expect(answer.workspaces).toEqual([expect.objectContaining({ id: account.workspaceId, ...given })]);
    expect(wrong(answer.workspaces[0], workspaceFields)).toEqual([]);
    expect(answer.workspaces[0]).toMatchObject({ billingVersion: 'v1', plan: 'community' });
  });

  it('is listed page by page, and not by another handle', async () => {
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
    const asBot = door.client(owner.token, owner.workspaceId, botId);
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

  it('answers every field of a row in its type', async () => {
    const { json, status } = await insert({ rows: [{ name: 'cup', price: 3 }] });

    expect(status).toBe(200);
    expect(
      wrong(json.rows[0], {
        id: 'number',
        computed: 'object',
        createdAt: 'date-time',
        updatedAt: 'date-time',
        name: 'string',
        price: 'number',
      }),
    ).toEqual([]);
    expect(json).not.toHaveProperty('warnings');
    expect(json).not.toHaveProperty('errors');
  });

  it.each([
    ['one row', [{}]],
    ['1000 rows', Array.from({ length: 1000 }, (_entry, price) => ({ price }))],
  ])('takes %s', async (_what, rows) => {
    const { json } = await insert({ rows });

    expect(json.rows).toHaveLength(rows.length);
  });

  it.each([
    ['no rows', {}, /rows is missing/],
    ['rows that are null', { rows: null }, /rows must be an array of objects/],
    ['an empty array', { rows: [] }, /rows must have 1 to 1000 entries/],
    ['1001 rows', { rows: Array.from({ length: 1001 }, () => ({})) }, /rows must have 1 to 1000 entries/],
    ['a row that is a number', { rows: [{}, 1] }, /rows must be an array of objects/],
    ['a row that is an array', { rows: [[]] }, /rows must be an array of objects/],
    ['waitComputed that is no boolean', { rows: [{}], waitComputed: 'yes' }, /waitComputed must be a boolean/],
    ['no object', [], /body must be a JSON object/],
  ])('refuses %s', async (_what, json, message) => {
    expect(await insert(json)).toEqual(refusal('InvalidPayload', message));
  });

  it('may succeed in part: warnings block nothing, errors keep out their rows', async () => {
    const { json, status } = await insert({
      rows: [{ name: 'pot', colour: 'red' }, { name: 1 }, { id: 7 }, { price: 'cheap', name: 'pan' }, { name: 'lid' }],
    });

    expect(status).toBe(200);
    expect(json.rows.map(({ name }: { name: string }) => name)).toEqual(['pot', 'lid']);
    expect(json.warnings).toEqual([expect.stringMatching(/^Row 0: colour .*left out/)]);
    expect(json.errors).toEqual([
      expect.stringMatching(/^Row 1: .*name/),
      expect.stringMatching(/^Row 2: .*id/),
      expect.stringMatching(/^Row 3: .*price/),
    ]);
  });

  it.each([true, false])('takes waitComputed %s', async (waitComputed) => {
    expect((await insert({ rows: [{ name: 'cup' }], waitComputed })).json.rows).toHaveLength(1);
  });

  it.each([
    ['x-integration-id', () => integrationId],
    ['x-integration-alias', () => 'front'],
    ['x-integration-name', () => 'front'],
    ['x-user-id', () => userId],
    ['x-user-role', () => 'manager'],
  ])('takes the header %s', async (header, value) => {
    expect((await insert({ rows: [{}] }, { [header]: value() })).status).toBe(200);
  });

  it('takes the key of an integration that the bot has installed, and of no other', async () => {
    const stranger = (await succeed('POST /v1/admin/integrations', { json: { name: 'rival', version: '1.0.0' } }))
      .integration.id;
    const { value } = await succeed('POST /v1/admin/integrations/iaks', { json: { integrationId: stranger } });
    const as = (token: string) => insert({ rows: [{}] }, { authorization: `Bearer ${token}` });

    expect((await as(integrationKey)).status).toBe(200);
    expect(await as(value)).toEqual(refusal('Forbidden', /x-bot-id/));
  });

  it.each([
    ['x-integration-id', /x-integration-id/],
    ['x-integration-alias', /x-integration-alias/],
    ['x-integration-name', /x-integration-alias/],
    ['x-user-id', /x-user-id/],
    ['x-bot-id', /x-bot-id/],
  ])('refuses a header %s that names nothing', async (header, message) => {
    expect(await insert({ rows: [{}] }, { [header]: 'none' })).toEqual(refusal('Forbidden', message));
  });

  it('needs x-bot-id, and a table of that bot by its name or id', async () => {
    const { bot } = await succeed('POST /v1/admin/bots', { json: { name: 'other' } });
    const { table } = await succeed('GET /v1/tables/goods', { headers: { 'x-bot-id': botId } });
    const into = (name: string, headers: Record<string, string>) =>
      send(`POST /v1/tables/${name}/rows`, { headers, json: { rows: [{}] } });

    expect(await into('goods', {})).toEqual(refusal('InvalidPayload', /x-bot-id/));
    expect((await into(table.id, { 'x-bot-id': botId })).status).toBe(200);
    for (const name of ['none', 'Goods', 'table_none']) {
      expect(await into(name, { 'x-bot-id': botId })).toEqual(refusal('ResourceNotFound', /There is no table/));
    }
    for (const name of ['goods', table.id]) {
      expect(await into(name, { 'x-bot-id': bot.id })).toEqual(refusal('ResourceNotFound', /There is no table/));
    }
  });

  it('refuses a body beyond its limit', async () => {
    const rows = Array.from({ length: 1000 }, () => ({ name: 'x'.repeat(17_000) }));

    expect(await insert({ rows })).toEqual(refusal('PayloadTooLarge', /16000000 bytes/));
  });
});
