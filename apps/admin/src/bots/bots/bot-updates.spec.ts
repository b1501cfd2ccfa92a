import type { Client } from '@botpress/client';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';

type Update = Omit<Parameters<Client['updateBot']>[0], 'id'>;

const schema = { type: 'object', properties: { a: { type: 'string' } } };
const action = { input: { schema }, output: { schema } };
const recurring = { schedule: { cron: '*/5 * * * *' }, type: 'tick', payload: { a: 1 } };
const everything = {
  name: 'Tea',
  description: 'Makes tea',
  tags: { color: 'red', size: 'l' },
  medias: [{ url: 'https://example.com/a.png', name: 'logo' }],
  states: { s: { type: 'user' as const, schema, expiry: 1000 }, t: { type: 'bot' as const, schema } },
  events: { e: { title: 'E', schema }, f: { schema } },
  actions: { a: action, b: action },
  recurringEvents: { r: recurring, q: recurring },
  subscriptions: { events: { 'slack:reaction': {} } },
  configuration: { data: { a: 1, b: 2 }, schema },
  user: { tags: { u: { title: 'U' }, v: {} } },
  conversation: { tags: { c: { description: 'C' } } },
  message: { tags: { m: {} } },
  secrets: { FIRST: 'hush-1', SECOND: 'hush-2' },
  maxExecutionTime: 30,
};

let api: PublicApi;
let alice: Account;
let bob: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
});

afterAll(() => api?.stop());

async function newBot(input: Parameters<Client['createBot']>[0] = {}) {
  const { bot } = await alice.client.createBot(input);
  const { id } = bot;
  return {
    id,
    bot,
    update: async (changes: Update) => (await alice.client.updateBot({ id, ...changes })).bot,
    get: async () => (await alice.client.getBot({ id })).bot,
    put: (json: unknown) =>
      api.send(`PUT /v1/admin/bots/${id}`, {
        headers: { authorization: `Bearer ${alice.token}`, 'x-workspace-id': alice.workspaceId },
        json,
      }),
  };
}

async function storedSecrets(id: string) {
  const [row] = await api.sql<{ secrets: Record<string, string> }>('SELECT secrets FROM admin.bot WHERE id = $1', [id]);
  return row!.secrets;
}

function entries<T>(count: number, entry: T): Record<string, T> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`N${index}`, entry]));
}

async function memberWith(role: 'administrator' | 'manager' | 'developer' | 'billing' | 'viewer') {
  const account = await api.newAccount();
  await api.addMember(alice.workspaceId, account.accountId, role);
  return api.client(account.token, alice.workspaceId);
}

describe('updating a bot', () => {
  it('changes only updatedAt of a bot for an update with an empty body', async () => {
    const { bot, update, get } = await newBot(everything);

    const updated = await update({});

    expect(updated).toEqual({ ...bot, updatedAt: updated.updatedAt });
    expect(Date.parse(updated.updatedAt)).toBeGreaterThan(Date.parse(bot.updatedAt));
    expect(await get()).toEqual(updated);
  });

  it('replaces plain fields of a bot and keeps those that an update leaves out', async () => {
    const { bot, update } = await newBot(everything);

    const updated = await update({ name: 'Coffee', alwaysAlive: true, maxExecutionTime: 60, type: 'adk' });

    expect(updated).toEqual({
      ...bot,
      name: 'Coffee',
      alwaysAlive: true,
      maxExecutionTime: 60,
      type: 'adk',
      updatedAt: updated.updatedAt,
    });
  });

  it('merges maps of a bot by entry, replaces a given entry completely, and removes one by null', async () => {
    const { update } = await newBot(everything);

    const updated = await update({
      tags: { color: 'blue', size: null, taste: 'sweet' },
      states: { s: { type: 'conversation', schema: {} }, t: null, n: { type: 'bot', schema } },
      events: { e: { schema: {} }, f: null },
      actions: { a: { title: 'A', ...action }, b: null },
      recurringEvents: { r: { ...recurring, type: 'tock' }, q: null },
      user: { tags: { u: { description: 'new' }, v: null } },
      conversation: { tags: { c: null } },
      message: { tags: { n: { title: 'N' } } },
    });

    expect(updated).toMatchObject({ tags: { color: 'blue', taste: 'sweet' } });
    expect(updated.states).toEqual({
      s: { type: 'conversation', schema: {} },
      n: { type: 'bot', schema },
    });
    expect(updated.events).toEqual({ e: { schema: {} } });
    expect(updated.actions).toEqual({ a: { title: 'A', ...action } });
    expect(updated.recurringEvents).toEqual({
      r: { ...recurring, type: 'tock', failedAttempts: 0, lastFailureReason: null },
    });
    expect(updated.user.tags).toEqual({ u: { description: 'new' } });
    expect(updated.conversation.tags).toEqual({});
    expect(updated.message.tags).toEqual({ m: {}, n: { title: 'N' } });
    expect(updated.tags).toEqual({ color: 'blue', taste: 'sweet' });
  });

  it('ignores the removal of missing entries of a bot, and drops attributes that are null', async () => {
    const { update } = await newBot();
    const attributes = { keep: 'x', drop: null };

    const updated = await update({
      states: { none: null },
      secrets: { NONE: null },
      events: { e: { schema, attributes } },
      actions: { a: { ...action, attributes } },
    });

    expect(updated.states).toEqual({});
    expect(updated.events).toEqual({ e: { schema, attributes: { keep: 'x' } } });
    expect(updated.actions).toEqual({ a: { ...action, attributes: { keep: 'x' } } });
  });

  it('replaces medias of a bot completely, and each part of the configuration completely', async () => {
    const { update } = await newBot(everything);

    const first = await update({ medias: [], configuration: { data: { c: 3 } } });
    const second = await update({ configuration: { schema: {} } });

    expect(first.medias).toEqual([]);
    expect(first.configuration).toEqual({ data: { c: 3 }, schema });
    expect(second.configuration).toEqual({ data: { c: 3 }, schema: { type: 'object', properties: {} } });
  });

  it('subscribes a bot to named events, without those that are null, or to all events', async () => {
    const { update } = await newBot(everything);

    const some = await update({ subscriptions: { events: { a: {}, b: null } } });
    const kept = await update({ name: 'same' });
    const all = await update({ subscriptions: { events: null } });

    expect(some.subscriptions).toEqual({ events: { a: {} } });
    expect(kept.subscriptions).toEqual(some.subscriptions);
    expect(all.subscriptions).toEqual({ events: null });
  });

  it('sets and clears the url of a bot, and updates deployedAt', async () => {
    const { id, bot, update } = await newBot();
    const stored = async () =>
      (await api.sql('SELECT url, authentication, layers FROM admin.bot WHERE id = $1', [id]))[0];

    const set = await update({ url: 'http://localhost:1/bot', authentication: 'hmac-sha256', layers: ['one'] });
    const whileSet = await stored();
    await update({ url: null, layers: [] });

    expect(bot.deployedAt).toBeUndefined();
    expect(Date.parse(set.deployedAt!)).toBeGreaterThanOrEqual(Date.parse(bot.createdAt));
    expect(whileSet).toEqual({ url: 'http://localhost:1/bot', authentication: 'hmac-sha256', layers: ['one'] });
    expect(await stored()).toEqual({ url: null, authentication: 'hmac-sha256', layers: [] });
  });

  it('keeps secrets of a bot that are left out, and returns only their names', async () => {
    const { id, update } = await newBot(everything);
    const before = await storedSecrets(id);

    const updated = await update({ secrets: { SECOND: null, THIRD_3: 'hush-3' } });

    const after = await storedSecrets(id);
    expect([...updated.secrets].sort()).toEqual(['FIRST', 'THIRD_3']);
    expect(Object.keys(after).sort()).toEqual(['FIRST', 'THIRD_3']);
    expect(after['FIRST']).toBe(before['FIRST']);
    expect(JSON.stringify([after, updated])).not.toContain('hush');
  });

  it('accepts names in a bot that are special in JavaScript, such as __proto__', async () => {
    const { put } = await newBot();

    const { text, json } = await put(
      JSON.parse('{"tags":{"__proto__":"a","constructor":"b"},"states":{"toString":null}}'),
    );

    expect(text).toContain('"tags":{"__proto__":"a","constructor":"b"}');
    expect(json.bot.states).toEqual({});
  });

  it('loses none of several concurrent updates of a bot', async () => {
    const { update, get } = await newBot();
    const names = Array.from({ length: 12 }, (_, index) => `S${index}`);

    await Promise.all(
      names.map((name) =>
        update({ tags: { [name]: 'x' }, states: { [name]: { type: 'bot', schema } }, secrets: { [name]: 'x' } }),
      ),
    );

    const bot = await get();
    expect(Object.keys(bot.tags).sort()).toEqual([...names].sort());
    expect(Object.keys(bot.states).sort()).toEqual([...names].sort());
    expect([...bot.secrets].sort()).toEqual([...names].sort());
  });
});

describe('the definition of a bot', () => {
  it('limits the definition of a bot to 10 MB, also when it grows over several updates', async () => {
    const { bot } = await newBot();
    const large = { type: 'object', description: 'x'.repeat(95_000) };
    const some = (from: number) =>
      Object.fromEntries(
        Array.from({ length: 40 }, (_, i) => [`a${from + i}`, { input: { schema: large }, output: { schema: {} } }]),
      );
    await alice.client.updateBot({ id: bot.id, actions: some(0) });
    await alice.client.updateBot({ id: bot.id, actions: some(40) });

    const third = alice.client.updateBot({ id: bot.id, name: 'Too much', actions: some(80) });

    await expect(third).rejects.toMatchObject({ type: 'LimitExceeded' });
    const after = (await alice.client.getBot({ id: bot.id })).bot;
    expect([after.name, Object.keys(after.actions).length]).toEqual([bot.name, 80]);
  });
});

describe('an update is rejected as a whole', () => {
  const bad: [string, unknown, string, RegExp][] = [
    [
      'a subscription that is no object',
      { subscriptions: { events: { a: 'x' } } },
      'InvalidPayload',
      /^subscriptions.events.a must be an object/,
    ],
    ['twenty-one states', { states: entries(21, { type: 'bot', schema }) }, 'InvalidPayload', /^states must have at/],
    ['twenty-one events', { events: entries(21, { schema }) }, 'InvalidPayload', /^events must have at most 20 /],
    ['too many recurring', { recurringEvents: entries(51, recurring) }, 'InvalidPayload', /^recurringEvents must have/],
    ['too many secrets', { secrets: entries(26, 'x') }, 'InvalidPayload', /^secrets must have at most 25 entries/],
    ['too many user tags', { user: { tags: entries(51, {}) } }, 'InvalidPayload', /^user.tags must have at most 50/],
    ['too many message tags', { message: { tags: entries(51, {}) } }, 'InvalidPayload', /^message.tags must have/],
    ['too many conv. tags', { conversation: { tags: entries(51, {}) } }, 'InvalidPayload', /^conversation.tags must/],
    [
      'a state schema that is none',
      { states: { s: { type: 'bot', schema: { type: 'text' } } } },
      'InvalidJsonSchema',
      /^states.s.schema is not a valid JSON schema: \/type must be/,
    ],
    [
      'an event schema that is none',
      { events: { e: { schema: { required: 'a' } } } },
      'InvalidJsonSchema',
      /^events.e.schema is not a valid JSON schema: \/required/,
    ],
    [
      'an action input schema that is none',
      { actions: { a: { ...action, input: { schema: { minimum: 'x' } } } } },
      'InvalidJsonSchema',
      /^actions.a.input.schema is not a valid JSON schema/,
    ],
    [
      'an action output schema that is none',
      { actions: { a: { ...action, output: { schema: { minimum: 'x' } } } } },
      'InvalidJsonSchema',
      /^actions.a.output.schema is not a valid JSON schema/,
    ],
    [
      'a configuration schema that is none',
      { configuration: { schema: { properties: [] } } },
      'InvalidJsonSchema',
      /^configuration.schema is not a valid JSON schema/,
    ],
  ];

  it.each(bad)('rejects a whole update of a bot for %s', async (_what, changes, type, message) => {
    const { bot, put, get } = await newBot({ name: 'before' });

    const { status, json } = await put({ description: 'after', ...(changes as object) });

    expect({ status, ...json }).toMatchObject({ status: 400, type, message: expect.stringMatching(message) });
    expect(await get()).toEqual(bot);
  });

  it('rejects a whole update of a bot when the merged map would exceed its limit', async () => {
    const { update, get } = await newBot({
      states: entries(20, { type: 'bot' as const, schema }),
      secrets: entries(25, 'x'),
      user: { tags: entries(50, {}) },
    });
    const before = await get();

    await expect(update({ states: { more: { type: 'bot', schema } } })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: 'states must have at most 20 entries and would have 21. Remove entries by setting them to null.',
    });
    await expect(update({ secrets: { MORE: 'x' } })).rejects.toMatchObject({
      message: expect.stringMatching(/^secrets must have/),
    });
    await expect(update({ user: { tags: { more: {} } } })).rejects.toMatchObject({
      message: expect.stringMatching(/^user.tags must have/),
    });

    expect(await get()).toEqual(before);
    const swapped = await update({
      states: { N0: null, more: { type: 'bot', schema } },
      secrets: { N0: null, MORE: 'x' },
    });
    expect([Object.keys(swapped.states).length, swapped.secrets.length]).toEqual([20, 25]);
  });

  it('rejects the creation of a bot with an invalid schema', async () => {
    const created = alice.client.createBot({ states: { s: { type: 'bot', schema: { type: 'text' } } } });

    await expect(created).rejects.toMatchObject({
      type: 'InvalidJsonSchema',
      message: expect.stringMatching(/^states.s.schema/),
    });
  });
});

describe('permission to update a bot', () => {
  it('requires the role developer or higher to update a bot', async () => {
    const { id } = await newBot();

    await expect((await memberWith('developer')).updateBot({ id, name: 'x' })).resolves.toBeDefined();
    for (const role of ['viewer', 'billing'] as const) {
      await expect((await memberWith(role)).updateBot({ id, name: 'y' })).rejects.toMatchObject({ type: 'Forbidden' });
    }
  });

  it('returns 404 for the update of a bot of another workspace', async () => {
    const { id, bot, get } = await newBot();

    await expect(bob.client.updateBot({ id, name: 'x' })).rejects.toMatchObject({
      type: 'ResourceNotFound',
      message: `The bot "${id}" was not found.`,
    });
    expect(await get()).toEqual(bot);
  });

  it('does not let a bot update itself', async () => {
    const { id } = await newBot();
    const { value } = await alice.client.createBotApiKey({ botId: id });

    await expect(api.client(value).updateBot({ id, name: 'x' })).rejects.toMatchObject({ type: 'Forbidden' });
  });
});

describe('a blocked bot', () => {
  it('rejects the keys of a blocked bot until it is unblocked, and shows the bot to members', async () => {
    const { id, update, get } = await newBot();
    const { value } = await alice.client.createBotApiKey({ botId: id });
    const asBot = api.client(value);
    await asBot.getBot({ id });

    await update({ blocked: true });

    await expect(asBot.getBot({ id })).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(api.client(value, undefined, id).listFiles({})).rejects.toMatchObject({
      type: 'Forbidden',
      message: 'The bot of this API key is blocked.',
    });
    expect((await get()).id).toBe(id);
    await update({ blocked: false });
    await expect(asBot.getBot({ id })).resolves.toBeDefined();
  });
});

describe('the audit records of bots', () => {
  it('audits account and names of changed fields of a bot, never their contents', async () => {
    const { id, update } = await newBot({ name: 'watched' });
    await update({ secrets: { KEY: 'hush' }, description: 'quiet', tags: { a: 'b' } });
    await alice.client.deleteBot({ id });

    const records = await api.sql(
      `SELECT action, operation, account_id, resource_name, value FROM admin.audit_record
       WHERE workspace_id = $1 AND resource_id = $2 ORDER BY recorded_at, id`,
      [alice.workspaceId, id],
    );

    const common = { account_id: alice.accountId, resource_name: 'watched' };
    expect(records).toEqual([
      { ...common, action: 'CREATE_BOT', operation: 'admin.bots.create', value: null },
      { ...common, action: 'UPDATE_BOT', operation: 'admin.bots.update', value: 'description, secrets, tags' },
      { ...common, action: 'DELETE_BOT', operation: 'admin.bots.delete', value: null },
    ]);
  });
});
