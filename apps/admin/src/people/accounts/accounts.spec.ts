import { type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { lockWaits } from '@parley/testing/lock-waits';
import { waitFor } from '@parley/testing/wait-for';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';

let api: PublicApi;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
});

afterAll(() => api?.stop());

function ask(line: string, json?: object, token = api.operatorToken) {
  return api.send(line, { headers: { authorization: `Bearer ${token}` }, json });
}

describe('an operator', () => {
  it('creates an account with a workspace of its own, and tokens for it, for an operator', async () => {
    const { status, json: account } = await ask('POST /operator/accounts', { email: 'Ann@example.com' });
    const { json: token } = await ask('POST /operator/tokens', { email: 'ann@EXAMPLE.com', note: 'laptop' });

    const client = api.client(token.value);
    const { workspaces } = await client.listWorkspaces({});
    const { pats } = await client.listPersonalAccessTokens({});

    expect(status).toBe(200);
    expect(account).toEqual({
      id: expect.any(String),
      email: 'Ann@example.com',
      workspaceId: expect.stringMatching(/^wkspace_/),
    });
    expect(workspaces).toEqual([expect.objectContaining({ id: account.workspaceId, ownerId: account.id })]);
    expect(pats).toEqual([expect.objectContaining({ note: 'laptop' })]);
  });

  it('creates one account per address, whatever its case, also for concurrent requests', async () => {
    const answers = await Promise.all(
      ['one@example.com', 'ONE@example.com', 'one@example.com'].map((email) =>
        ask('POST /operator/accounts', { email }),
      ),
    );

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect(answers.find(({ status }) => status === 409)!.json).toMatchObject({
      type: 'AlreadyExists',
      message: expect.stringMatching(/^email: an account with "one@example.com" exists/i),
    });
  });

  it('creates an account with the longest address, whose workspace can still be renamed', async () => {
    const email = `${'a'.repeat(64)}@${'b'.repeat(60)}.${'c'.repeat(60)}.example`;

    const { status, json } = await ask('POST /operator/accounts', { email });
    const { value } = (await ask('POST /operator/tokens', { email })).json;
    const client = api.client(value);
    const workspace = await client.getWorkspace({ id: json.workspaceId });

    expect(status).toBe(200);
    expect(workspace.name.length).toBeLessThanOrEqual(64);
    await expect(client.updateWorkspace({ id: workspace.id, name: workspace.name })).resolves.toMatchObject({
      name: workspace.name,
    });
  });

  it('issues no token for an address without an account', async () => {
    expect(await ask('POST /operator/tokens', { email: 'nobody@example.com' })).toMatchObject({
      status: 400,
      json: { type: 'ReferenceNotFound', message: expect.stringContaining('nobody@example.com') },
    });
  });

  it.each(['GET /v1/admin/account/pats', 'GET /v1/admin/workspaces', 'GET /v1/admin/bots', 'GET /v1/files'])(
    'forbids an operator to request %s',
    async (line) => {
      const headers = { authorization: `Bearer ${api.operatorToken}`, 'x-workspace-id': 'w', 'x-bot-id': 'b' };

      expect(await api.send(line, { headers })).toMatchObject({
        status: 403,
        json: { type: 'Forbidden', message: expect.stringContaining('operator key') },
      });
    },
  );

  it("reserves operations about accounts to the operator, and those about work to the operator's workspace", async () => {
    const account = await api.newAccount();
    const { bot } = await account.client.createBot({});
    const { value } = await account.client.createBotApiKey({ botId: bot.id });
    const aboutAccounts = ['POST /operator/accounts', 'POST /operator/tokens'];
    const aboutWork = ['GET /operator/admin/dead-letters', 'POST /operator/admin/dead-letters/replay'];

    for (const [token, lines] of [
      [account.token, [...aboutAccounts, ...aboutWork]],
      [value, [...aboutAccounts, ...aboutWork]],
      [api.settings.bootstrapToken, aboutAccounts],
    ] as const) {
      for (const line of lines) {
        expect(await ask(line, line.startsWith('GET') ? undefined : { email: 'x@example.com' }, token)).toMatchObject({
          status: 403,
          json: { type: 'Forbidden' },
        });
      }
    }
  });

  it('lists no dead letters when there are none', async () => {
    expect(await ask('GET /operator/admin/dead-letters')).toMatchObject({ status: 200, json: { deadLetters: [] } });
    expect(await ask('POST /operator/admin/dead-letters/replay', {})).toMatchObject({
      status: 200,
      json: { replayed: 0 },
    });
  });
});

describe('an account', () => {
  it('reads the profile of an account, and keeps the fields that an update leaves out', async () => {
    const { client, accountId } = await api.newAccount();

    const before = await client.getAccount({});
    await client.updateAccount({ displayName: 'Ann', profilePicture: 'https://example.com/a.png', refresh: true });
    const changed = await client.updateAccount({ displayName: 'Anne' });

    expect(before.account).toEqual({
      id: accountId,
      email: expect.stringMatching(/@example\.com$/),
      emailVerified: true,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(changed.account).toEqual({
      ...before.account,
      displayName: 'Anne',
      profilePicture: 'https://example.com/a.png',
    });
    expect(await client.getAccount({})).toEqual(changed);
  });
});

describe('deleting an account', () => {
  it('deletes tokens, memberships and empty workspaces of a deleted account, with immediate effect', async () => {
    const [alice, carol] = await Promise.all([api.newAccount(), api.newAccount()]);
    const second = await carol.client.createWorkspace({ name: 'second' });
    await api.addMember(alice.workspaceId, carol.accountId, 'developer');
    await carol.client.setAccountPreference({ key: 'k', value: 1 });
    await api.client(carol.token, alice.workspaceId).createBot({});

    await carol.client.deleteAccount({});

    await expect(carol.client.getAccount({})).rejects.toMatchObject({ type: 'Unauthorized' });
    const [left] = await api.sql(
      `SELECT (SELECT count(*)::int FROM admin.account WHERE id = $1) AS accounts,
              (SELECT count(*)::int FROM admin.token WHERE account_id = $1) AS tokens,
              (SELECT count(*)::int FROM admin.workspace_member WHERE account_id = $1) AS members,
              (SELECT count(*)::int FROM admin.workspace WHERE id = ANY($2)) AS workspaces`,
      [carol.accountId, [carol.workspaceId, second.id]],
    );
    expect(left).toEqual({ accounts: 0, tokens: 0, members: 0, workspaces: 0 });
    const { records } = await alice.client.getAuditRecords({ id: alice.workspaceId });
    expect(records).toContainEqual(
      expect.objectContaining({ action: 'REMOVE_WORKSPACE_MEMBER', userId: carol.accountId }),
    );
    const events = await api.sql("SELECT data FROM admin.outbox WHERE subject = 'admin.workspaceDeleted'");
    expect(events.map(({ data }) => data)).toEqual(
      expect.arrayContaining([{ workspaceId: carol.workspaceId }, { workspaceId: second.id }]),
    );
  });

  it.each([
    ['members', 'developer'],
    ['bots', undefined],
  ] as const)('refuses to delete an account while a workspace with %s has no other owner', async (_what, role) => {
    const [alice, carol] = await Promise.all([api.newAccount(), api.newAccount()]);
    if (role) await api.addMember(alice.workspaceId, carol.accountId, role);
    else await alice.client.createBot({});

    await expect(alice.client.deleteAccount({})).rejects.toMatchObject({
      type: 'ReferenceConstraint',
      message: expect.stringContaining(alice.workspaceId),
    });

    await expect(alice.client.getAccount({})).resolves.toBeDefined();
  });

  it('keeps workspaces of a deleted account when they have another owner', async () => {
    const [alice, carol] = await Promise.all([api.newAccount(), api.newAccount()]);
    await api.addMember(alice.workspaceId, carol.accountId, 'owner');
    await alice.client.createBot({});

    await alice.client.deleteAccount({});

    expect(await carol.client.getWorkspace({ id: alice.workspaceId })).toMatchObject({ ownerId: carol.accountId });
  });

  it('leaves a workspace one owner when both of its owners delete themselves concurrently', async () => {
    const [alice, carol] = await Promise.all([api.newAccount(), api.newAccount()]);
    await api.addMember(alice.workspaceId, carol.accountId, 'owner');
    await alice.client.createBot({});

    const results = await Promise.allSettled([alice.client.deleteAccount({}), carol.client.deleteAccount({})]);

    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { type: 'ReferenceConstraint' },
    });
  });

  it('rejects the pending requests of a deleted account immediately', async () => {
    const { client, accountId } = await api.newAccount();
    await client.getAccount({});
    await api.sql('BEGIN');
    await api.sql('SELECT 1 FROM admin.account WHERE id = $1 FOR UPDATE', [accountId]);

    const calls = [client.createWorkspace({ name: 'late' }), client.createPersonalAccessToken({ note: 'late' })].map(
      (call) => call.catch((error: unknown) => error),
    );
    await waitFor(async () => (await lockWaits({ query: api.sql })) === 2);
    await api.sql('DELETE FROM admin.workspace WHERE owner_id = $1', [accountId]);
    await api.sql('DELETE FROM admin.account WHERE id = $1', [accountId]);
    await api.sql('COMMIT');

    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ type: 'Unauthorized' });
  });

  it('frees the address of a deleted account', async () => {
    const { client } = await api.newAccount();
    const { email } = (await client.getAccount({})).account;

    await client.deleteAccount({});

    expect(await ask('POST /operator/accounts', { email })).toMatchObject({ status: 200 });
  });
});
