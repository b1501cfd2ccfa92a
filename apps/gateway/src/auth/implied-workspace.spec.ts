import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../gateway.module';

let api: PublicApi;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
});

afterAll(() => api?.stop());

const missing = {
  status: 400,
  json: {
    type: 'InvalidPayload',
    message: 'The header x-workspace-id is missing: it must be the id of a workspace.',
  },
};

function ask(line: string, { token }: Pick<Account, 'token'>, headers: Record<string, string> = {}, json?: unknown) {
  return api.send(line, { headers: { authorization: `Bearer ${token}`, ...headers }, json });
}

const listBots = (who: Pick<Account, 'token'>, headers = {}) => ask('GET /v1/admin/bots', who, headers);

describe('a personal access token', () => {
  it('accepts a personal access token without x-workspace-id while its account belongs to one workspace', async () => {
    const alice = await api.newAccount();
    const { bot } = await alice.client.createBot({});

    for (const headers of [{}, { 'x-workspace-id': '' }]) {
      const { status, json } = await listBots(alice, headers);
      expect({ status, ids: json.bots.map(({ id }: { id: string }) => id) }).toEqual({ status: 200, ids: [bot.id] });
    }
    const { workspaceId } = (await ask('POST /v1/admin/introspect', alice, {}, { botId: bot.id })).json;
    expect(workspaceId).toBe(alice.workspaceId);
  });

  it('gives a personal access token the role of its account in the implied workspace', async () => {
    const [alice, carol] = await Promise.all([api.newAccount(), api.newAccount()]);
    await carol.client.deleteWorkspace({ id: carol.workspaceId });
    await api.addMember(alice.workspaceId, carol.accountId, 'viewer');

    expect((await listBots(carol)).status).toBe(200);
    expect(await ask('POST /v1/admin/bots', carol, {}, {})).toMatchObject({
      status: 403,
      json: { type: 'Forbidden', message: expect.stringContaining('The role viewer does not permit this operation') },
    });
  });

  it('requires x-workspace-id while the account of a token belongs to several workspaces', async () => {
    const alice = await api.newAccount();
    expect((await listBots(alice)).status).toBe(200);

    const other = await alice.client.createWorkspace({ name: 'other' });
    expect(await listBots(alice)).toMatchObject(missing);
    expect((await listBots(alice, { 'x-workspace-id': other.id })).status).toBe(200);
    expect((await listBots(alice, { 'x-workspace-id': alice.workspaceId })).status).toBe(200);

    await alice.client.deleteWorkspace({ id: other.id });
    expect((await listBots(alice)).status).toBe(200);
  });

  it('requires x-workspace-id as soon as the account of a token joins a second workspace', async () => {
    const [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
    expect((await listBots(alice)).status).toBe(200);

    const { id } = await bob.client.createWorkspaceMember({ email: alice.email, role: 'viewer' });
    expect(await listBots(alice)).toMatchObject(missing);

    await bob.client.deleteWorkspaceMember({ id });
    expect((await listBots(alice)).status).toBe(200);
  });

  it('requires x-workspace-id when the account of a token belongs to no workspace', async () => {
    const alice = await api.newAccount();
    await alice.client.deleteWorkspace({ id: alice.workspaceId });

    expect(await listBots(alice)).toMatchObject(missing);
  });

  it('authorizes a personal access token per operation, whichever operation came before', async () => {
    const [alice, carol] = await Promise.all([api.newAccount(), api.newAccount()]);
    await carol.client.deleteWorkspace({ id: carol.workspaceId });
    await api.addMember(alice.workspaceId, carol.accountId, 'billing');
    const statuses = async () => [
      (await ask('GET /v1/admin/account/me', carol)).status,
      (await listBots(carol)).status,
    ];

    // The role billing may read its account, but no bots.
    expect(await statuses()).toEqual([200, 403]);
    expect((await statuses()).reverse()).toEqual([403, 200]);
  });
});

describe('x-workspace-id beside a bot API key', () => {
  it.each([
    ['GET /v1/admin/bots/{bot}', undefined],
    ['GET /v1/files', undefined],
    ['POST /v1/admin/introspect', {}],
  ])('forbids %s with a bot API key and x-workspace-id of another or an unknown workspace', async (line, json) => {
    const [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
    const { id } = (await alice.client.createBot({})).bot;
    const key = await alice.client.createBotApiKey({ botId: id });
    const send = (workspaceId: string) =>
      ask(
        line.replace('{bot}', id),
        { token: key.value },
        { 'x-bot-id': id, 'x-workspace-id': workspaceId },
        json && { botId: id },
      );

    for (const other of [bob.workspaceId, 'wkspace_none']) {
      expect(await send(other)).toMatchObject({
        status: 403,
        json: {
          type: 'Forbidden',
          message: `x-workspace-id "${other}" was not found, or this token has no access to it.`,
        },
      });
    }
    // 503: no files service runs here, so authorization has passed.
    expect([200, 503]).toContain((await send(alice.workspaceId)).status);
  });

  it('forbids another x-workspace-id or x-bot-id with a bot API key, also where neither is needed', async () => {
    const alice = await api.newAccount();
    const [own, other] = [(await alice.client.createBot({})).bot.id, (await alice.client.createBot({})).bot.id];
    const token = (await alice.client.createBotApiKey({ botId: own })).value;

    for (const [line, json] of [
      [`GET /v1/admin/bots/${own}`, undefined],
      ['POST /v1/admin/introspect', { botId: own }],
    ] as const) {
      expect(await ask(line, { token }, { 'x-bot-id': other }, json)).toMatchObject({
        status: 403,
        json: { type: 'Forbidden', message: `x-bot-id "${other}" was not found, or this token has no access to it.` },
      });
      expect((await ask(line, { token }, { 'x-bot-id': own }, json)).status).toBe(200);
    }
  });
});
