import { Client } from '@botpress/client';
import { Database } from '@parley/persistence/database';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { ChatModule } from '../chat.module';
import { ChatConfig } from '../config';

type Payload = Record<string, unknown>;
type Path = Parameters<Client['getState']>[0];

const anything = { type: 'object' };
const counted = {
  type: 'object',
  properties: { count: { type: 'number', minimum: 0 }, tag: { type: 'string', pattern: '^(a+)+$' } },
  required: ['count'],
  additionalProperties: false,
};
const states = {
  order: { type: 'conversation' as const, schema: anything },
  profile: { type: 'user' as const, schema: anything },
  settings: { type: 'bot' as const, schema: anything },
  counted: { type: 'bot' as const, schema: counted },
  visit: { type: 'user' as const, schema: anything, expiry: 86_399_999.5 },
};

let api: PublicApi;
let alice: Account;
let botId: string;
let client: Client;
let userId: string;
let conversationId: string;
let integrationId: string;

beforeAll(async () => {
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ChatModule, ChatConfig, { sweepIntervalMs: 2_000 }),
  );
  alice = await api.newAccount();
  integrationId = (
    await alice.client.createIntegration({
      name: 'shop',
      version: '1.0.0',
      states: {
        stock: { type: 'integration', schema: counted },
        cart: { type: 'user', schema: anything },
      },
    })
  ).integration.id;
  botId = await newBot();
  client = api.client(alice.token, alice.workspaceId, botId);
  userId = (await client.createUser({ tags: {} })).user.id;
  conversationId = (await client.createConversation({ channel: 'channel', tags: {} })).conversation.id;
});

afterAll(() => api?.stop());

async function newBot(): Promise<string> {
  const { bot } = await alice.client.createBot({ states });
  const { token, workspaceId } = alice;
  const withAliases = new Client({
    apiUrl: api.url,
    token,
    workspaceId,
    headers: { 'x-multiple-integrations': 'true' },
  });
  await withAliases.updateBot({
    id: bot.id,
    integrations: { one: { integrationId, enabled: true }, two: { integrationId, enabled: true } },
  });
  return bot.id;
}

function installed(integrationAlias: string): Client {
  const { token, workspaceId } = alice;
  return new Client({ apiUrl: api.url, token, workspaceId, botId, integrationId, integrationAlias });
}

async function ofNewUser(name = 'profile', as = client): Promise<Path> {
  return { type: 'user', id: (await as.createUser({ tags: {} })).user.id, name };
}

const payloadOf = async (path: Path) => (await client.getState(path)).state.payload;
const line = (method: string, { type, id, name }: Path, end = '') =>
  `${method} /v1/chat/states/${type}/${encodeURIComponent(id)}/${encodeURIComponent(name)}${end}`;
const headers = () => ({ authorization: `Bearer ${alice.token}`, 'x-bot-id': botId });
const send = (request: string, body?: unknown) => api.send(request, { headers: headers(), json: body });
const failsWith = (type: string, message: string | RegExp = /./) => ({
  type,
  message: expect.stringMatching(message) as unknown,
});

/** Moves the expiry `agoMs` into the past; a negative value moves it into the future. */
async function letExpire({ id, name }: Path, agoMs = 0) {
  await api.sql(
    `UPDATE chat.state SET expires_at = now() - $3 * interval '1 millisecond' WHERE owner_id = $1 AND name = $2`,
    [id, name, agoMs],
  );
}

const eventsOf = ({ id }: Path) =>
  api.sql<{ payload: { state: Payload }; status: string; user_id: string; type: string }>(
    `SELECT * FROM chat.event WHERE type = 'state_expired' AND user_id = $1 ORDER BY id`,
    [id],
  );

/** Runs the work while a transaction holds the locks of this statement; commits when the work waits for them. */
async function whileHeld<T>(statement: string, values: unknown[], work: () => Promise<T>): Promise<T> {
  const holder = await Database.open({ url: api.databaseUrl, schema: 'chat', migrations: [], poolSize: 1 });
  try {
    const working = await holder.transaction(async (tx) => {
      await tx.query(statement, values);
      const begun = work();
      await waitFor(
        () => api.sql(`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%state%'`),
        (waiting) => waiting.length > 0,
      );
      return { begun };
    });
    return await working.begun;
  } finally {
    await holder.close();
  }
}

describe('a state', () => {
  const all = (): Path[] => [
    { type: 'conversation', id: conversationId, name: 'order' },
    { type: 'user', id: userId, name: 'profile' },
    { type: 'bot', id: botId, name: 'settings' },
  ];

  it('returns a state with its owner', async () => {
    const shown = await Promise.all(
      all().map((path) => client.setState({ ...path, payload: { a: 1 } }).then(({ state }) => state)),
    );

    const common = {
      id: expect.stringMatching(/^state_[0-9A-HJKMNP-TV-Z]{26}$/) as unknown,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
      updatedAt: expect.any(String) as unknown,
      botId,
      payload: { a: 1 },
    };
    expect(shown).toEqual([
      { ...common, type: 'conversation', name: 'order', conversationId },
      { ...common, type: 'user', name: 'profile', userId },
      { ...common, type: 'bot', name: 'settings' },
    ]);
    for (const state of shown) {
      const { type, name } = state;
      const id = state.conversationId ?? state.userId ?? botId;
      expect(await client.getState({ type, id, name })).toEqual({ state, meta: { cached: false } });
    }
  });

  it('separates a state of an integration per installation, which the bot names by alias', async () => {
    const path = { type: 'integration' as const, id: integrationId, name: 'stock' };

    await installed('one').setState({ ...path, payload: { count: 1 } });
    await installed('two').setState({ ...path, payload: { count: 2 } });

    expect((await installed('one').getState(path)).state).toMatchObject({ name: 'stock', payload: { count: 1 } });
    expect((await installed('two').getState(path)).state).toMatchObject({ name: 'stock', payload: { count: 2 } });
    await expect(client.getState(path)).rejects.toMatchObject(
      failsWith(
        'InvalidPayload',
        /is installed 2 times in this bot\. Name one by the header x-integration-alias: one, two\.$/,
      ),
    );
  });

  it('names a state declared by an integration without alias for it, and alias:name for the bot', async () => {
    const path = await ofNewUser('cart', installed('one'));

    const { state } = await installed('one').patchState({ ...path, payload: { cups: 2 } });

    expect(state).toMatchObject({ name: 'cart', payload: { cups: 2 }, userId: path.id });
    const seen = await client.getState({ ...path, name: 'one:cart' });
    expect(seen.state).toEqual({ ...state, name: 'one:cart' });
  });

  it.each<[string, () => Promise<Path>, string]>([
    ['conversation', async () => ({ type: 'conversation', id: userId, name: 'order' }), 'conversation'],
    ['user', async () => ({ type: 'user', id: conversationId, name: 'profile' }), 'user'],
    ['bot', async () => ({ type: 'bot', id: await newBot(), name: 'settings' }), 'bot'],
    ['workflow', async () => ({ type: 'workflow', id: userId, name: 'x' }), 'workflow'],
    ['integration', async () => ({ type: 'integration', id: 'intver_01', name: 'stock' }), 'integration'],
  ])('returns 404 for a state of an unknown %s', async (type, path) => {
    const there = await path();
    const problem = failsWith('ResourceNotFound', new RegExp(`^The ${type} "${there.id}" was not found\\.$`));

    await expect(client.getState(there)).rejects.toMatchObject(problem);
    await expect(client.setState({ ...there, payload: {} })).rejects.toMatchObject(problem);
    await expect(client.setState({ ...there, payload: null })).rejects.toMatchObject(problem);
    await expect(client.patchState({ ...there, payload: {} })).rejects.toMatchObject(problem);
    await expect(client.getOrSetState({ ...there, payload: {} })).rejects.toMatchObject(problem);
    await expect(client.setStateExpiry({ ...there, expiry: 1 })).rejects.toMatchObject(problem);
  });

  it('returns the 404 of an unknown user for a state of a user of another bot or installation', async () => {
    const stranger = await ofNewUser('profile', api.client(alice.token, alice.workspaceId, await newBot()));
    const neighbour = await ofNewUser('cart', installed('two'));

    await expect(client.setState({ ...stranger, payload: {} })).rejects.toMatchObject(
      failsWith('ResourceNotFound', `The user "${stranger.id}" was not found.`),
    );
    await expect(installed('one').setState({ ...neighbour, payload: {} })).rejects.toMatchObject(
      failsWith('ResourceNotFound', `The user "${neighbour.id}" was not found.`),
    );
  });

  it.each<[Path['type'], string, RegExp]>([
    [
      'conversation',
      'profile',
      /^State "profile" of type conversation not found\. Declared by this bot for this type: order\.$/,
    ],
    ['user', 'order', / Declared by this bot for this type: profile, visit, one:cart, two:cart\.$/],
    ['user', 'constructor', /^State "constructor" of type user not found\. Declared by this bot/],
    ['user', 'one:stock', /^State "one:stock" of type user not found\. Declared by this bot/],
    ['bot', '__proto__', / Declared by this bot for this type: counted, settings\.$/],
  ])('returns 404 for a state whose name is not declared for a %s: %s', async (type, name, message) => {
    const id = { conversation: conversationId, user: userId, bot: botId }[type as string]!;

    const setting = client.setState({ type, id, name, payload: {} });

    await expect(setting).rejects.toMatchObject(failsWith('ResourceNotFound', message));
  });

  it('returns 404 to an integration that does not declare the name of a state', async () => {
    const path = await ofNewUser('profile', installed('one'));

    const setting = installed('one').setState({ ...path, payload: {} });

    await expect(setting).rejects.toMatchObject(
      failsWith('ResourceNotFound', / Declared by the integration one for this type: cart\.$/),
    );
  });

  it('accepts a state as soon as it is declared', async () => {
    await expect(client.getState({ type: 'bot', id: botId, name: 'newest' })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
    await alice.client.updateBot({ id: botId, states: { newest: { type: 'bot', schema: anything } } });

    const { state } = await client.setState({ type: 'bot', id: botId, name: 'newest', payload: { a: 1 } });

    expect(state.payload).toEqual({ a: 1 });
    await alice.client.updateBot({ id: botId, states: { newest: null } });
  });

  it('deletes a state with its owner', async () => {
    const path = await ofNewUser();
    await client.setState({ ...path, payload: {} });

    await client.deleteUser({ id: path.id });

    await expect(client.getState(path)).rejects.toMatchObject(failsWith('ResourceNotFound', /^The user "/));
    expect(await api.sql('SELECT 1 FROM chat.state WHERE owner_id = $1', [path.id])).toEqual([]);
  });
});

describe('getState', () => {
  it('returns 404 for a state if no value is stored', async () => {
    const path = await ofNewUser();

    await expect(client.getState(path)).rejects.toMatchObject(
      failsWith('ResourceNotFound', `State "profile" of the user "${path.id}" not found: no value is stored.`),
    );
  });
});

describe('setState', () => {
  it('replaces the stored payload of a state', async () => {
    const path = await ofNewUser();
    const { state: before } = await client.setState({ ...path, payload: { a: 1, b: null } });
    expect(before.payload).toEqual({ a: 1, b: null });

    const { state: after } = await client.setState({ ...path, payload: { c: { d: [1] } } });

    expect(after).toEqual({ ...before, payload: { c: { d: [1] } }, updatedAt: after.updatedAt });
    expect(after.updatedAt > before.updatedAt).toBe(true);
    expect((await client.getState(path)).state).toEqual(after);
  });

  it('deletes a state that is set to null, idempotently', async () => {
    const path = await ofNewUser();
    const { state } = await client.setState({ ...path, payload: { a: 1 } });

    const first = await client.setState({ ...path, payload: null });
    const second = await client.setState({ ...path, payload: null });

    expect(first.state).toEqual({ ...state, payload: {} });
    expect(second.state).toMatchObject({ botId, userId: path.id, type: 'user', name: 'profile', payload: {} });
    await expect(client.getState(path)).rejects.toMatchObject(failsWith('ResourceNotFound', /no value is stored\.$/));
  });

  it('stores keys of a state such as __proto__ and constructor', async () => {
    const path = await ofNewUser();
    const payload = '{"__proto__":{"a":1},"constructor":2}';

    await api.send(line('POST', path), {
      headers: { ...headers(), 'content-type': 'application/json' },
      body: `{"payload":${payload}}`,
    });
    const patched = await api.send(line('PATCH', path), {
      headers: { ...headers(), 'content-type': 'application/json' },
      body: '{"payload":{"toString":3,"constructor":null}}',
    });

    expect(JSON.stringify(patched.json.state.payload)).toBe('{"toString":3,"__proto__":{"a":1}}');
  });

  it('creates one state for concurrent requests of setState', async () => {
    const path = await ofNewUser();

    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, number) => client.setState({ ...path, payload: { number } })),
    );

    expect(new Set(replies.map(({ state }) => state.id)).size).toBe(1);
  });
});

describe('getOrSetState', () => {
  it('stores the payload by getOrSetState if there is none, and then returns the stored one', async () => {
    const path = await ofNewUser();

    const first = await client.getOrSetState({ ...path, payload: { a: 1 } });
    const second = await client.getOrSetState({ ...path, payload: { b: 2 } });

    expect(first).toMatchObject({ state: { payload: { a: 1 } }, meta: { cached: false } });
    expect(second).toEqual(first);
  });

  it('returns the same state to concurrent requests of getOrSetState', async () => {
    const path = await ofNewUser();

    const replies = await Promise.all(
      Array.from({ length: 30 }, (_, number) => client.getOrSetState({ ...path, payload: { number } })),
    );

    expect(new Set(replies.map(({ state }) => JSON.stringify(state))).size).toBe(1);
  });
});

describe('patchState', () => {
  it('patches a state: creates it, merges keys and removes those that are null', async () => {
    const path = await ofNewUser();

    const { state: made } = await client.patchState({ ...path, payload: { a: 1, b: { c: 1 }, d: null } });
    const { state: merged } = await client.patchState({ ...path, payload: { a: null, b: { e: 2 }, f: 3 } });

    expect(made.payload).toEqual({ a: 1, b: { c: 1 } });
    expect(merged).toEqual({ ...made, payload: { b: { e: 2 }, f: 3 }, updatedAt: merged.updatedAt });
  });

  it('keeps all keys of concurrent patches of a state', async () => {
    const path = await ofNewUser();
    const names = Array.from({ length: 60 }, (_, number) => `name${number}`);

    await Promise.all(names.map((name) => client.patchState({ ...path, payload: { [name]: name } })));

    expect(await payloadOf(path)).toEqual(Object.fromEntries(names.map((name) => [name, name])));
  });

  it('merges a patch into a payload that another process has stored meanwhile', async () => {
    const path = await ofNewUser();
    await client.setState({ ...path, payload: { a: 1 } });

    const { state } = await whileHeld(
      `UPDATE chat.state SET payload = '{"a":1,"other":2}' WHERE owner_id = $1`,
      [path.id],
      () => client.patchState({ ...path, payload: { b: 3 } }),
    );

    expect(state.payload).toEqual({ a: 1, other: 2, b: 3 });
  });

  it('rejects a patched payload of a state that is too large after merging', async () => {
    const path = await ofNewUser();
    await client.patchState({ ...path, payload: { a: 'a'.repeat(100_000) } });

    const patching = client.patchState({ ...path, payload: { b: 'b'.repeat(31_100) } });

    await expect(patching).rejects.toMatchObject(
      failsWith('InvalidPayload', 'payload must be at most 131072 bytes of JSON after merging.'),
    );
    await client.patchState({ ...path, payload: { a: null, b: 'b'.repeat(130_000) } });
  });
});

describe('the declared schema', () => {
  const path = (): Path => ({ type: 'bot', id: botId, name: 'counted' });

  it.each<[string, Payload, RegExp]>([
    ['a wrong type', { count: 'many' }, /^payload\.count must be number\.$/],
    ['a wrong value', { count: -1 }, /^payload\.count must be >= 0\.$/],
    ['a missing name', {}, /^payload must have required property 'count'\.$/],
    ['a wrong pattern', { count: 1, tag: 'b' }, /^payload\.tag must match pattern/],
  ])('refuses by the declared schema of a state %s', async (_what, payload, message) => {
    await client.setState({ ...path(), payload: null });
    const problem = failsWith('InvalidDataFormat', message);

    await expect(client.setState({ ...path(), payload })).rejects.toMatchObject(problem);
    await expect(client.patchState({ ...path(), payload })).rejects.toMatchObject(problem);
    await expect(client.getOrSetState({ ...path(), payload })).rejects.toMatchObject(problem);
    await expect(client.getState(path())).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });

  it('keeps keys that a closed schema does not know', async () => {
    const payload = { count: 1, unknown: [1] };

    const { state } = await client.setState({ ...path(), payload });

    expect(state.payload).toEqual(payload);
    await client.setState({ ...path(), payload: null });
  });

  it('stops a pattern of a state with catastrophic backtracking', async () => {
    const payload = { count: 1, tag: `${'a'.repeat(40)}!` };
    const setting = () => client.setState({ ...path(), payload }).catch((error: unknown) => error);

    // 503 as long as the machine is too busy for the check. The client shows it as Internal with code 500.
    const error = await waitFor(setting, (answer) => (answer as { type?: string }).type !== 'Internal');

    expect(error).toMatchObject(failsWith('InvalidDataFormat', /^payload takes too long to check/));
  });

  it('applies the schema of a state to the merged payload, not to the change', async () => {
    await client.setState({ ...path(), payload: { count: 1 } });

    const { state } = await client.patchState({ ...path(), payload: { tag: 'aa' } });

    expect(state.payload).toEqual({ count: 1, tag: 'aa' });
    await expect(client.patchState({ ...path(), payload: { count: null } })).rejects.toMatchObject(
      failsWith('InvalidDataFormat', /required property 'count'/),
    );
    expect(await payloadOf(path())).toEqual({ count: 1, tag: 'aa' });
  });
});

describe('an expiry', () => {
  const untilOf = ({ state }: { state: { expiresAt?: string } }) => Date.parse(state.expiresAt!);

  it('defaults to the declared expiry for a new state', async () => {
    const [first, second, third, fourth] = await Promise.all([1, 2, 3, 4].map(() => ofNewUser('visit')));

    const replies = await Promise.all([
      client.setState({ ...first!, payload: {} }),
      client.patchState({ ...second!, payload: {}, expiry: 60_000 }),
      client.getOrSetState({ ...third!, payload: {}, expiry: null }),
      client.setState({ ...fourth!, payload: {}, expiry: 2_592_000_000 }),
    ]);

    expect(replies.map(({ state }) => state.expiry)).toEqual([86_400_000, 60_000, undefined, 2_592_000_000]);
    expect(
      replies.map(({ state }) => Date.parse(state.expiresAt ?? state.updatedAt) - Date.parse(state.updatedAt)),
    ).toEqual([86_400_000, 60_000, 0, 2_592_000_000]);
  });

  it('rounds an expiry up to whole milliseconds', async () => {
    const [first, second, third] = await Promise.all([1, 2, 3].map(() => ofNewUser()));
    await client.setState({ ...third!, payload: {} });

    const replies = await Promise.all([
      client.setState({ ...first!, payload: {}, expiry: 1500.5 }),
      client.getOrSetState({ ...second!, payload: {}, expiry: 60_000.1 }),
      client.setStateExpiry({ ...third!, expiry: 60_000.9 }),
    ]);

    expect(replies.map(({ state }) => state.expiry)).toEqual([1501, 60_001, 60_001]);
  });

  it('keeps an omitted expiry, and removes it by null', async () => {
    const path = await ofNewUser();
    await client.setState({ ...path, payload: {}, expiry: 60_000 });

    const kept = await client.setState({ ...path, payload: { a: 1 } });
    const changed = await client.setStateExpiry({ ...path, expiry: 120_000 });
    const patched = await client.patchState({ ...path, payload: { b: 1 } });
    const ended = await client.setStateExpiry({ ...path, expiry: null });

    expect([kept, changed, patched].map(({ state }) => state.expiry)).toEqual([60_000, 120_000, 120_000]);
    expect(ended.state).toEqual({
      ...patched.state,
      updatedAt: ended.state.updatedAt,
      expiry: undefined,
      expiresAt: undefined,
    });
  });

  it('restarts the expiry of a state with each read and write', async () => {
    const path = await ofNewUser();
    await client.setState({ ...path, payload: {}, expiry: 60_000 });
    const touches = [
      () => client.getState(path),
      () => client.getOrSetState({ ...path, payload: {} }),
      () => client.patchState({ ...path, payload: {} }),
      () => client.setState({ ...path, payload: {} }),
    ];

    for (const touch of touches) {
      await letExpire(path, -30_000);
      const soonest = Date.now() + 60_000;
      expect(untilOf(await touch())).toBeGreaterThanOrEqual(soonest);
      expect(untilOf(await client.getState(path))).toBeGreaterThanOrEqual(soonest);
    }
  });

  it('refuses to set an expiry if no value is stored', async () => {
    await expect(client.setStateExpiry({ ...(await ofNewUser()), expiry: 1 })).rejects.toMatchObject(
      failsWith('ResourceNotFound', /no value is stored\.$/),
    );
  });

  it('deletes an expired state, with one event', async () => {
    const path = await ofNewUser();
    const { state } = await client.setState({ ...path, payload: { a: 1 }, expiry: 60_000 });

    await letExpire(path);

    await expect(client.getState(path)).rejects.toMatchObject(failsWith('ResourceNotFound', /no value is stored\.$/));
    const events = await waitFor(
      () => eventsOf(path),
      (found) => found.length > 0,
    );
    expect(events).toMatchObject([
      { status: 'pending', user_id: path.id, payload: { state: { id: state.id, payload: { a: 1 } } } },
    ]);
    expect(await api.sql('SELECT 1 FROM chat.state WHERE owner_id = $1', [path.id])).toEqual([]);
  });

  it('sends the event of an expired state only to the bot', async () => {
    const path = await ofNewUser('cart', installed('one'));
    await installed('one').setState({ ...path, payload: {}, expiry: 60_000 });

    await letExpire({ ...path, name: 'one:cart' });

    await waitFor(
      () => eventsOf(path),
      (found) => found.length > 0,
    );
    expect((await client.listEvents({ userId: path.id })).events).toMatchObject([
      { type: 'state_expired', payload: { state: { name: 'one:cart' } } },
    ]);
    expect((await installed('one').listEvents({ userId: path.id })).events).toEqual([]);
  });

  it.each<[string, (path: Path) => Promise<{ state: { id: string; payload: Payload } }>]>([
    ['setState', (path) => client.setState({ ...path, payload: { b: 1 } })],
    ['patchState', (path) => client.patchState({ ...path, payload: { b: 1 } })],
  ])('creates the event and a new state for an expired state before the sweep: %s', async (_name, write) => {
    const path = await ofNewUser();
    const { state: old } = await client.setState({ ...path, payload: { a: 1 }, expiry: 60_000 });

    // The sweep skips locked rows, and the write waits for the lock.
    const { state } = await whileHeld(
      `UPDATE chat.state SET expires_at = now() - interval '1 ms' WHERE owner_id = $1`,
      [path.id],
      () => write(path),
    );

    expect(state.payload).toEqual({ b: 1 });
    expect(state.id).not.toBe(old.id);
    expect(state).not.toHaveProperty('expiry');
    expect((await eventsOf(path)).map(({ payload }) => payload.state.id)).toEqual([old.id]);
  });

  it('stores a new state by getOrSetState after the old one expired', async () => {
    const path = await ofNewUser();
    const { state: old } = await client.setState({ ...path, payload: { a: 1 }, expiry: 60_000 });
    await letExpire(path);

    const { state } = await client.getOrSetState({ ...path, payload: { b: 1 } });

    expect(state).toMatchObject({ payload: { b: 1 }, id: expect.not.stringMatching(old.id) as unknown });
    expect((await eventsOf(path)).map(({ payload }) => payload.state.id)).toEqual([old.id]);
  });

  it('creates one event for each of many states that expire concurrently', async () => {
    const paths = await Promise.all(Array.from({ length: 30 }, () => ofNewUser()));
    await Promise.all(paths.map((path) => client.setState({ ...path, payload: {}, expiry: 60_000 })));
    const ids = paths.map(({ id }) => id);

    await api.sql(`UPDATE chat.state SET expires_at = now() - interval '1 ms' WHERE owner_id = ANY ($1)`, [ids]);
    await Promise.all(paths.map((path) => client.patchState({ ...path, payload: { b: 1 } })));

    const events = await api.sql<{ user_id: string }>(
      `SELECT user_id FROM chat.event WHERE type = 'state_expired' AND user_id = ANY ($1) ORDER BY user_id`,
      [ids],
    );
    expect(events.map(({ user_id }) => user_id)).toEqual([...ids].sort());
  });
});

describe('bad input', () => {
  it('does not delete a state if setState has no payload', async () => {
    const path = await ofNewUser();
    await client.setState({ ...path, payload: { a: 1 } });

    const { status, json } = await send(line('POST', path), {});

    expect([status, json.message]).toEqual([400, 'payload is missing.']);
    expect(await payloadOf(path)).toEqual({ a: 1 });
  });

  it('returns 404 for a state with a name of more than 200 characters', async () => {
    const [fits, tooLong] = [200, 201].map((length) => ({
      type: 'workflow' as const,
      id: 'wrkflow_none',
      name: '状'.repeat(length),
    }));
    const { id } = (await client.createWorkflow({ name: 'long', status: 'listening' })).workflow;

    const stored = await send(line('PATCH', { ...fits!, id }), { payload: {} });
    const refused = await send(line('PATCH', { ...tooLong!, id }), { payload: {} });

    expect([stored.status, refused.status, refused.json.message]).toEqual([
      200,
      404,
      'name must be at most 200 characters.',
    ]);
  });

  it.each([
    ['authorization', 401, 'Unauthorized'],
    ['x-bot-id', 400, 'InvalidPayload'],
  ] as const)('rejects a request for a state without %s', async (name, status, type) => {
    const { [name]: _left, ...rest } = headers();

    const reply = await api.send(line('PATCH', await ofNewUser()), { headers: rest, json: { payload: {} } });

    expect([reply.status, reply.json.type]).toEqual([status, type]);
  });
});
