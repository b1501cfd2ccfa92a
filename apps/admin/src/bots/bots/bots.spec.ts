import { randomUUID } from 'node:crypto';
import { admin } from '@parley/contracts/admin/admin';
import { newId } from '@parley/persistence/ids';
import { SecretBox } from '@parley/secrets/secret-box';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { BotHomes1797300000000 } from '../../migrations/1797300000000-bot-homes';

/** Version id of the built-in chat, which every new bot has installed. */
const chatIntegrationId = 'intver_00000000000000000000000001';

let api: PublicApi;
let alice: Account;
let bob: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
});

afterAll(() => api?.stop());

async function memberWith(role: 'administrator' | 'manager' | 'developer' | 'billing' | 'viewer') {
  const account = await api.newAccount();
  await api.addMember(alice.workspaceId, account.accountId, role);
  return api.client(account.token, alice.workspaceId);
}

function create(json: unknown) {
  return api.send('POST /v1/admin/bots', {
    headers: { authorization: `Bearer ${alice.token}`, 'x-workspace-id': alice.workspaceId },
    json,
  });
}

describe('creating a bot', () => {
  it('creates a bot from an empty body, with a generated name and every part', async () => {
    const { bot } = await alice.client.createBot({});

    expect(bot).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      name: expect.stringMatching(/^bot-[0-9a-f]{8}$/),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: bot.createdAt,
      signingSecret: expect.stringMatching(/^[0-9a-f]{64}$/),
      createdBy: alice.accountId,
      dev: false,
      type: 'studio',
      status: 'active',
      alwaysAlive: false,
      tags: {},
      medias: [],
      secrets: [],
      integrations: { [chatIntegrationId]: expect.objectContaining({ name: 'chat' }) },
      plugins: {},
      states: {},
      events: {},
      recurringEvents: {},
      actions: {},
      subscriptions: { events: null },
      configuration: { data: {}, schema: { type: 'object', properties: {} } },
      user: { tags: {} },
      conversation: { tags: {} },
      message: { tags: {} },
    });
  });

  it('stores every given field of a new bot', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const given = {
      name: 'Tea',
      description: 'Makes tea',
      dev: true,
      type: 'adk' as const,
      maxExecutionTime: 30,
      tags: { color: 'red' },
      medias: [{ url: 'https://example.com/a.png', name: 'logo' }],
      states: { s: { type: 'user' as const, schema, expiry: 1000 } },
      events: { e: { title: 'E', schema, attributes: { a: 'b' } } },
      actions: { a: { title: 'A', billable: true, input: { schema }, output: { schema } } },
      subscriptions: { events: { 'slack:reaction': {} } },
      configuration: { data: { a: 1 }, schema },
      user: { tags: { u: { title: 'U' } } },
      conversation: { tags: { c: { description: 'C' } } },
      message: { tags: { m: {} } },
    };
    const recurringEvents = { r: { schedule: { cron: '* * * * *' }, type: 'r', payload: { a: [1, null] } } };

    const { id } = (await alice.client.createBot({ ...given, recurringEvents, url: 'http://localhost:8080/bot' })).bot;

    const { bot } = await alice.client.getBot({ id });
    expect(bot).toMatchObject(given);
    expect(bot.recurringEvents).toEqual({ r: { ...recurringEvents.r, failedAttempts: 0, lastFailureReason: null } });
    expect(bot.deployedAt).toBe(bot.createdAt);
  });

  it('encrypts secrets of a bot at rest and returns only their names', async () => {
    const secrets = { API_KEY: 'hush-1', OTHER_2: 'hush-2' };

    const { bot } = await alice.client.createBot({ secrets });

    const [row] = await api.sql<{ secrets: Record<string, string>; signing_secret: string }>(
      'SELECT * FROM admin.bot WHERE id = $1',
      [bot.id],
    );
    expect([...bot.secrets].sort()).toEqual(['API_KEY', 'OTHER_2']);
    expect(Object.keys(row!.secrets).sort()).toEqual(['API_KEY', 'OTHER_2']);
    expect(JSON.stringify(row)).not.toMatch(/hush/);
    expect(JSON.stringify(row)).not.toContain(bot.signingSecret);
    expect(JSON.stringify(await alice.client.getBot({ id: bot.id }))).not.toMatch(/hush/);
  });

  it('subscribes a new bot to all events when subscriptions are left out', async () => {
    expect((await create({ subscriptions: {} })).status).toBe(200);
  });

  it('requires the role developer to create a bot', async () => {
    const [developer, viewer, billing] = await Promise.all([
      memberWith('developer'),
      memberWith('viewer'),
      memberWith('billing'),
    ]);

    await expect(developer.createBot({})).resolves.toBeDefined();
    await expect(viewer.createBot({})).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(billing.createBot({})).rejects.toMatchObject({ type: 'Forbidden' });
  });

  it('counts a new bot towards the quota of its workspace', async () => {
    const { client, workspaceId: id } = await api.newAccount();

    await Promise.all([client.createBot({}), client.createBot({})]);

    expect(await client.getWorkspace({ id })).toMatchObject({ botCount: 2 });
  });
});

describe('reading a bot', () => {
  it('shows the signing secret of a bot to developers and higher roles only', async () => {
    const { bot } = await alice.client.createBot({});
    const { value } = await alice.client.createBotApiKey({ botId: bot.id });
    const secretFor = async (client: Account['client']) => (await client.getBot({ id: bot.id })).bot.signingSecret;

    expect(await secretFor(await memberWith('developer'))).toBe(bot.signingSecret);
    expect(await secretFor(await memberWith('viewer'))).toBe('');
    expect(await secretFor(api.client(value))).toBe('');
  });

  it('returns the same 404 for reading a bot of another workspace as a missing bot', async () => {
    const { bot } = await bob.client.createBot({});

    for (const id of [bot.id, 'none']) {
      await expect(alice.client.getBot({ id })).rejects.toMatchObject({
        type: 'ResourceNotFound',
        message: `The bot "${id}" was not found.`,
      });
    }
  });

  it('finds its own bot by a bot key without a workspace header, and no other bot', async () => {
    const [own, other] = await Promise.all([alice.client.createBot({}), alice.client.createBot({})]);
    const { value } = await alice.client.createBotApiKey({ botId: own.bot.id });

    expect((await api.client(value).getBot({ id: own.bot.id })).bot.id).toBe(own.bot.id);
    for (const id of [other.bot.id, (await (await api.newAccount()).client.createBot({})).bot.id, randomUUID()]) {
      await expect(api.client(value).getBot({ id })).rejects.toMatchObject({
        ...{ type: 'Forbidden', code: 403 },
        message: `Bot "${id}" does not exist, or this API key may not read it.`,
      });
    }
  });

  it('requires a higher role than billing to read a bot', async () => {
    const { bot } = await alice.client.createBot({});

    await expect((await memberWith('billing')).getBot({ id: bot.id })).rejects.toMatchObject({ type: 'Forbidden' });
  });
});

describe('listing bots', () => {
  it('returns the bots of the workspace, newest first, without secrets', async () => {
    const { client } = await api.newAccount();
    const first = await client.createBot({ name: 'one', tags: { a: 'b' }, secrets: { S: 'hush' } });
    // Ensures different creation times: bots of the same millisecond are sorted by id.
    await waitFor(() => Date.now() > Date.parse(first.bot.createdAt));
    const second = await client.createBot({ name: 'two', type: 'desk', code: '1' });

    const list = await client.listBots({});

    const entry = ({ bot }: typeof first) => {
      const { id, name, createdAt, updatedAt, deployedAt, tags, type } = bot;
      return { id, name, createdAt, updatedAt, tags, type, ...(deployedAt ? { deployedAt } : {}) };
    };
    expect(list).toEqual({ bots: [entry(second), entry(first)], meta: {} });
  });

  it('filters bots by tags and dev, and returns none for an unknown integration or plugin', async () => {
    const { client } = await api.newAccount();
    await client.createBot({ name: 'red', tags: { color: 'red' } });
    await client.createBot({ name: 'blue', tags: { color: 'blue', size: 'l' }, dev: true });
    await client.createBot({ name: 'plain' });
    const names = async (query: Parameters<typeof client.listBots>[0]) =>
      (await client.listBots(query)).bots.map(({ name }) => name).sort();

    expect(await names({ tags: { color: 'red' } })).toEqual(['red']);
    expect(await names({ tags: { color: 'blue', size: 'm' } })).toEqual([]);
    expect(await names({ dev: true })).toEqual(['blue']);
    expect(await names({ dev: false })).toEqual(['plain', 'red']);
    expect(await names({ integrationNames: ['slack'] })).toEqual([]);
    expect(await names({ pluginNames: ['hitl'] })).toEqual([]);
  });

  it.each([
    ['createdAt', 'asc'],
    ['createdAt', 'desc'],
    ['updatedAt', 'asc'],
    ['updatedAt', 'desc'],
  ] as const)(
    'lists bots by %s %s, each once across pages, also with equal times',
    async (sortField, sortDirection) => {
      const { client, workspaceId } = await api.newAccount();
      await Promise.all(Array.from({ length: 25 }, () => client.createBot({})));
      await api.sql(
        "UPDATE admin.bot SET created_at = '2026-01-01', updated_at = '2026-01-02' WHERE workspace_id = $1",
        [workspaceId],
      );
      await client.createBot({ name: 'newest' });

      const pages: string[][] = [];
      let nextToken: string | undefined;
      do {
        const page = await client.listBots({ pageSize: 10, sortField, sortDirection, nextToken });
        pages.push(page.bots.map(({ name }) => name));
        nextToken = page.meta.nextToken;
      } while (nextToken);

      expect(pages.map(({ length }) => length)).toEqual([10, 10, 6]);
      expect(new Set(pages.flat()).size).toBe(26);
      expect(sortDirection === 'desc' ? pages[0]![0] : pages[2]!.at(-1)).toBe('newest');
    },
  );

  it('lists 20 bots per page by default, without a token on a last page that is full', async () => {
    const { client } = await api.newAccount();
    await Promise.all(Array.from({ length: 21 }, () => client.createBot({})));

    const first = await client.listBots({});
    const rest = await client.listBots({ nextToken: first.meta.nextToken });
    const whole = await client.listBots({ pageSize: 21 });

    expect([first.bots.length, rest.bots.length, whole.bots.length]).toEqual([20, 1, 21]);
    expect([rest.meta.nextToken, whole.meta.nextToken]).toEqual([undefined, undefined]);
  });

  it('rejects a page token of a different query of bots', async () => {
    const { client, token, workspaceId } = await api.newAccount();
    await Promise.all([client.createBot({}), client.createBot({}), bob.client.createBot({})]);
    const { nextToken } = (await client.listBots({ pageSize: 1 })).meta;

    for (const query of [
      { dev: true },
      { tags: { a: 'b' } },
      { sortDirection: 'asc' },
      { sortField: 'updatedAt' },
    ] as const) {
      await expect(client.listBots({ ...query, nextToken })).rejects.toMatchObject({
        type: 'InvalidQuery',
        message: expect.stringMatching(/^nextToken/),
      });
    }
    await expect(bob.client.listBots({ nextToken })).rejects.toMatchObject({ type: 'InvalidQuery' });
    await expect(api.client(token, workspaceId).listBots({ nextToken, pageSize: 5 })).resolves.toMatchObject({
      bots: [{}],
    });
  });
});

describe('deleting a bot', () => {
  it('deletes a bot, rejects its keys immediately and publishes an event', async () => {
    const { bot } = await alice.client.createBot({});
    const { value } = await alice.client.createBotApiKey({ botId: bot.id });
    const outcome = () =>
      api
        .client(value)
        .getBot({ id: bot.id })
        .then(
          () => 'found',
          (error: { type: string }) => error.type,
        );
    // Freezes the clock of the gateway's cache, so that its entry for the key does not expire.
    jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    expect(await outcome()).toBe('found');

    await alice.client.deleteBot({ id: bot.id });

    await waitFor(outcome, (type) => type === 'Unauthorized');
    jest.restoreAllMocks();
    await expect(alice.client.getBot({ id: bot.id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(api.client(alice.token, undefined, bot.id).listFiles({})).rejects.toMatchObject({
      type: 'Forbidden',
    });
    const ids = { botId: bot.id, workspaceId: alice.workspaceId };
    expect(
      await api.sql("SELECT subject, data FROM admin.outbox WHERE data ->> 'botId' = $1 ORDER BY id OFFSET 2", [
        bot.id,
      ]),
    ).toEqual([
      { subject: 'admin.botDeleted', data: ids },
      { subject: 'admin.installationsChanged', data: { ...ids, revision: 2, integrations: [], plugins: [] } },
    ]);
    expect(await api.sql('SELECT 1 FROM admin.token WHERE bot_id = $1', [bot.id])).toEqual([]);
  });

  it('deletes a bot once and publishes one event for concurrent requests', async () => {
    const { bot } = await alice.client.createBot({});

    const results = await Promise.allSettled(Array.from({ length: 4 }, () => alice.client.deleteBot({ id: bot.id })));

    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.type] : []));
    expect(failures).toEqual(['ResourceNotFound', 'ResourceNotFound', 'ResourceNotFound']);
    const events = await api.sql("SELECT 1 FROM admin.outbox WHERE subject = $1 AND data ->> 'botId' = $2", [
      'admin.botDeleted',
      bot.id,
    ]);
    expect(events).toHaveLength(1);
  });

  it('returns the same 404 for deleting a bot of another workspace as a missing bot', async () => {
    const { bot } = await bob.client.createBot({});

    await expect(alice.client.deleteBot({ id: bot.id })).rejects.toMatchObject({
      type: 'ResourceNotFound',
      message: `The bot "${bot.id}" was not found.`,
    });

    await expect(bob.client.getBot({ id: bot.id })).resolves.toBeDefined();
  });

  it('requires the role manager to delete a bot', async () => {
    const { bot } = await alice.client.createBot({});

    await expect((await memberWith('developer')).deleteBot({ id: bot.id })).rejects.toMatchObject({
      type: 'Forbidden',
    });
    await expect((await memberWith('manager')).deleteBot({ id: bot.id })).resolves.toBeDefined();
  });
});

describe('transferring a bot', () => {
  /** Creates a bot, and an administrator of its workspace who has `role`, if any, in the target workspace. */
  async function newTransfer(role?: 'viewer' | 'developer' | 'billing') {
    const { bot } = await alice.client.createBot({ name: 'moving', code: '1' });
    const mover = await api.newAccount();
    await api.addMember(alice.workspaceId, mover.accountId, 'administrator');
    const target = await api.newAccount();
    if (role) await api.addMember(target.workspaceId, mover.accountId, role);
    const client = api.client(mover.token, alice.workspaceId);
    return {
      id: bot.id,
      mover,
      target,
      transfer: () => client.transferBot({ id: bot.id, targetWorkspaceId: target.workspaceId }),
    };
  }

  it('announces the workspace of every bot at an upgrade, by events that are older than all transfers', async () => {
    const { bot } = await alice.client.createBot({});
    const query = async (text: string) => {
      await api.sql('SET search_path TO admin');
      return api.sql(text);
    };

    await new BotHomes1797300000000().up({ query } as never);
    await query('RESET search_path');

    const announced = await api.sql<{ id: string; data: unknown }>(
      `SELECT id, data FROM admin.outbox WHERE subject = 'admin.botTransferred' AND data ->> 'botId' = $1`,
      [bot.id],
    );
    expect(announced).toMatchObject([{ data: { botId: bot.id, workspaceId: alice.workspaceId } }]);
    expect(announced[0]!.id < newId('outbox')).toBe(true);
    expect(announced[0]!.id).toHaveLength(newId('outbox').length);
  });

  it('transfers a bot with its keys and versions, and writes an audit record in both workspaces', async () => {
    const { id, mover, target, transfer } = await newTransfer('developer');
    const { value } = await alice.client.createBotApiKey({ botId: id });
    await api.client(value).getBot({ id });

    await transfer();

    expect((await target.client.getBot({ id })).bot).toMatchObject({ id, name: 'moving' });
    expect((await target.client.listBotVersions({ id })).versions).toHaveLength(1);
    expect((await api.client(value).getBot({ id })).bot.id).toBe(id);
    await expect(api.client(value, alice.workspaceId).getBot({ id })).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(alice.client.getBot({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(api.client(alice.token, undefined, id).listFiles({})).rejects.toMatchObject({ type: 'Forbidden' });
    const records = await api.sql(
      `SELECT workspace_id, account_id, resource_name, value FROM admin.audit_record
       WHERE resource_id = $1 AND action = 'TRANSFER_BOT' ORDER BY workspace_id = $2 DESC`,
      [id, alice.workspaceId],
    );
    const common = {
      account_id: mover.accountId,
      resource_name: 'moving',
      value: `from ${alice.workspaceId} to ${target.workspaceId}`,
    };
    expect(records).toEqual([
      { workspace_id: alice.workspaceId, ...common },
      { workspace_id: target.workspaceId, ...common },
    ]);
  });

  it('opens a transferred bot to all users of the target workspace', async () => {
    const { id, mover, target, transfer } = await newTransfer('developer');
    await alice.client.updateBotAllowlist({ botId: id, setting: 'SELECTED_USERS', users: { [mover.accountId]: true } });

    await transfer();

    expect(await target.client.getBotAllowlist({ botId: id })).toEqual({ setting: 'ALL_WORKSPACE_USERS', users: [] });
  });

  it('requires the role developer in the target workspace to transfer a bot', async () => {
    const [none, viewer] = await Promise.all([newTransfer(), newTransfer('viewer')]);

    await expect(none.transfer()).rejects.toMatchObject({
      type: 'ReferenceNotFound',
      message: `targetWorkspaceId: you are not a member of workspace "${none.target.workspaceId}".`,
    });
    await expect(viewer.transfer()).rejects.toMatchObject({ type: 'Forbidden' });
    for (const { id } of [none, viewer]) await expect(alice.client.getBot({ id })).resolves.toBeDefined();
  });

  it.each(['developer', 'manager'] as const)('forbids a %s of the source workspace to transfer a bot', async (role) => {
    const { id } = (await alice.client.createBot({})).bot;
    const own = await api.newAccount();
    await api.addMember(alice.workspaceId, own.accountId, role);

    const attempt = api.client(own.token, alice.workspaceId).transferBot({ id, targetWorkspaceId: own.workspaceId });

    await expect(attempt).rejects.toMatchObject({
      type: 'Forbidden',
      message: `The role ${role} does not permit this operation: it requires one of the roles owner, administrator.`,
    });
    await expect(alice.client.getBot({ id })).resolves.toBeDefined();
  });

  it("reads the role in the source workspace of a transfer again instead of the caller's cached one", async () => {
    const { id, mover, target } = await newTransfer('developer');
    const demoted = {
      requestId: 'r',
      credential: 'pat' as const,
      account: { id: mover.accountId, email: mover.email },
    };
    await api.sql("UPDATE admin.workspace_member SET role = 'manager' WHERE workspace_id = $1 AND account_id = $2", [
      alice.workspaceId,
      mover.accountId,
    ]);

    const attempt = api.call(
      admin.bots.transfer,
      { ...demoted, workspace: { id: alice.workspaceId }, role: 'administrator' },
      { id, targetWorkspaceId: target.workspaceId },
    );

    await expect(attempt).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(alice.client.getBot({ id })).resolves.toBeDefined();
  });

  it('rejects its own workspace and a missing one as the target of a transfer', async () => {
    const { id } = (await alice.client.createBot({})).bot;
    const to = (targetWorkspaceId: string) => alice.client.transferBot({ id, targetWorkspaceId });

    await expect(to(alice.workspaceId)).rejects.toMatchObject({ type: 'InvalidPayload' });
    await expect(to('wkspace_none')).rejects.toMatchObject({ type: 'ReferenceNotFound' });
  });

  it('returns the same 404 for transferring a bot of another workspace as a missing bot', async () => {
    const { id } = (await bob.client.createBot({})).bot;
    await api.addMember(bob.workspaceId, alice.accountId, 'viewer');

    const attempt = alice.client.transferBot({ id, targetWorkspaceId: (await newTransfer()).target.workspaceId });

    await expect(attempt).rejects.toMatchObject({
      type: 'ResourceNotFound',
      message: `The bot "${id}" was not found.`,
    });
  });
});

describe('rotating the signing secret of a bot', () => {
  const formerSecrets = (id: string) =>
    api.sql<{ secret: string; hours: string }>(
      `SELECT secret, extract(epoch FROM valid_until - now()) / 3600 AS hours
       FROM admin.bot_former_signing_secret WHERE bot_id = $1 ORDER BY valid_until`,
      [id],
    );

  it('rotates the signing secret, returns it and keeps former ones for 24 hours, encrypted', async () => {
    const { id, signingSecret } = (await alice.client.createBot({})).bot;
    const box = new SecretBox(new SecretKeys(api.settings));

    const first = (await alice.client.rotateBotSigningSecrets({ id })).newSigningSecret;
    const second = (await alice.client.rotateBotSigningSecrets({ id })).newSigningSecret;

    expect((await alice.client.getBot({ id })).bot.signingSecret).toBe(second);
    expect(new Set([signingSecret, first, second]).size).toBe(3);
    expect(second).toMatch(/^[0-9a-f]{64}$/);
    const former = await formerSecrets(id);
    expect(former.map(({ secret }) => box.open(secret))).toEqual([signingSecret, first]);
    for (const { hours } of former) expect(Math.abs(Number(hours) - 24)).toBeLessThan(0.1);
  });

  it('deletes former signing secrets after 24 hours', async () => {
    const { id } = (await alice.client.createBot({})).bot;
    await alice.client.rotateBotSigningSecrets({ id });
    await api.sql(
      `UPDATE admin.bot_former_signing_secret SET valid_until = now() - interval '1 ms' WHERE bot_id = $1`,
      [id],
    );

    await alice.client.rotateBotSigningSecrets({ id });

    expect(await formerSecrets(id)).toHaveLength(1);
  });

  it('requires the role manager to rotate the signing secret, and writes an audit record', async () => {
    const { id } = (await alice.client.createBot({ name: 'turning' })).bot;

    await expect((await memberWith('developer')).rotateBotSigningSecrets({ id })).rejects.toMatchObject({
      type: 'Forbidden',
    });
    await (await memberWith('manager')).rotateBotSigningSecrets({ id });

    expect(
      await api.sql(
        "SELECT action, resource_name, value FROM admin.audit_record WHERE resource_id = $1 AND operation = 'admin.bots.rotateSigningSecret'",
        [id],
      ),
    ).toEqual([{ action: 'UNKNOWN', resource_name: 'turning', value: null }]);
  });

  it("returns the same 404 for rotating the secret of another workspace's bot as of a missing one", async () => {
    const { id } = (await bob.client.createBot({})).bot;

    await expect(alice.client.rotateBotSigningSecrets({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });
});
