import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { hashToken } from '@parley/secrets/token';
import { lockWaits } from '@parley/testing/lock-waits';
import { waitFor } from '@parley/testing/wait-for';

let api: PublicApi;
let alice: Account;
let bob: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
});

afterAll(() => api?.stop());

async function newBot(account: Account): Promise<string> {
  return (await account.client.createBot({})).bot.id;
}

describe('personal access tokens', () => {
  it('shows a personal access token once, accepts it, and stores a hash', async () => {
    const { pat } = await alice.client.createPersonalAccessToken({ note: 'laptop' });

    const { pats } = await alice.client.listPersonalAccessTokens({});
    const used = await api.client(pat.value).listWorkspaces({});
    const [row] = await api.sql('SELECT * FROM admin.token WHERE id = $1', [pat.id]);

    const { value, ...entry } = pat;
    expect(value).toMatch(/^bp_pat_[0-9A-Za-z]{36}$/);
    expect(pats).toContainEqual(entry);
    expect(JSON.stringify(pats)).not.toContain(value);
    expect(used.workspaces).toHaveLength(1);
    expect(row).toMatchObject({ hash: hashToken(value), account_id: alice.accountId, bot_id: null });
    expect(JSON.stringify(row)).not.toContain(value.slice(0, 20));
  });

  it('requires a note for a personal access token, maybe empty, within its length limit', async () => {
    const ask = (json: object) =>
      api.send('POST /v1/admin/account/pats', { headers: { authorization: `Bearer ${alice.token}` }, json });

    expect((await ask({ note: '' })).status).toBe(200);
    for (const note of [undefined, null, 5, 'x'.repeat(201)]) {
      expect(await ask({ note })).toMatchObject({
        status: 400,
        json: { type: 'InvalidPayload', message: expect.stringMatching(/^note (must|is missing)/) },
      });
    }
  });

  it('deletes a personal access token once, and rejects it afterwards', async () => {
    const { pat } = await alice.client.createPersonalAccessToken({ note: 'x' });

    await alice.client.deletePersonalAccessToken({ id: pat.id });

    expect((await alice.client.listPersonalAccessTokens({})).pats).not.toContainEqual(
      expect.objectContaining({ id: pat.id }),
    );
    await expect(alice.client.deletePersonalAccessToken({ id: pat.id })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
  });

  it('hides personal access tokens of another account from lists and deletion', async () => {
    const { pat } = await bob.client.createPersonalAccessToken({ note: 'x' });

    const { pats } = await alice.client.listPersonalAccessTokens({});
    const foreign = alice.client.deletePersonalAccessToken({ id: pat.id });
    await expect(foreign).rejects.toMatchObject({
      type: 'ResourceNotFound',
      message: `The personal access token "${pat.id}" was not found.`,
    });

    expect(pats).not.toContainEqual(expect.objectContaining({ id: pat.id }));
    await expect(alice.client.deletePersonalAccessToken({ id: 'pat_none' })).rejects.toMatchObject({
      message: 'The personal access token "pat_none" was not found.',
    });
    await expect(api.client(pat.value).listWorkspaces({})).resolves.toBeDefined();
  });
});

describe('bot API keys', () => {
  it('shows a bot API key once, accepts it for its bot, and stores a hash', async () => {
    const botId = await newBot(alice);

    const key = await alice.client.createBotApiKey({ botId, note: 'server' });

    const { baks } = await alice.client.listBotApiKeys({ botId });
    const { value, ...entry } = key;
    const [row] = await api.sql('SELECT * FROM admin.token WHERE id = $1', [key.id]);
    expect(value).toMatch(/^bp_bak_/);
    expect(baks).toEqual([entry]);
    expect(row).toMatchObject({ hash: hashToken(value), account_id: null, bot_id: botId, note: 'server' });
    expect((await api.client(value).getBot({ id: botId })).bot.id).toBe(botId);
  });

  it('forbids a bot API key to manage, list or write resources of the workspace', async () => {
    const botId = await newBot(alice);
    const { value, id } = await alice.client.createBotApiKey({ botId });
    const client = api.client(value, alice.workspaceId, botId);

    for (const call of [
      () => client.listBots({}),
      () => client.createBot({}),
      () => client.deleteBot({ id: botId }),
      () => client.createBotApiKey({ botId }),
      () => client.listBotApiKeys({ botId }),
      () => client.deleteBotApiKey({ id }),
      () => client.listWorkspaces({}),
      () => client.listPersonalAccessTokens({}),
      () => client.createPersonalAccessToken({ note: 'x' }),
    ]) {
      await expect(call()).rejects.toMatchObject({
        type: 'Forbidden',
        message: 'A bot API key may not call this operation.',
      });
    }
  });

  it("returns the same error for keys of another workspace's bot as of a missing one", async () => {
    const foreign = await newBot(bob);

    for (const botId of [foreign, 'none']) {
      const message = `botId: this workspace has no bot "${botId}".`;
      await expect(alice.client.createBotApiKey({ botId })).rejects.toMatchObject({
        type: 'ReferenceNotFound',
        message,
      });
      await expect(alice.client.listBotApiKeys({ botId })).rejects.toMatchObject({
        type: 'ReferenceNotFound',
        message,
      });
    }
  });

  it('deletes a bot API key once, and only for its workspace', async () => {
    const botId = await newBot(alice);
    const { id } = await alice.client.createBotApiKey({ botId });

    await expect(bob.client.deleteBotApiKey({ id })).rejects.toMatchObject({
      type: 'ResourceNotFound',
      message: `The bot API key "${id}" was not found.`,
    });
    await alice.client.deleteBotApiKey({ id });

    await expect(alice.client.deleteBotApiKey({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    expect((await alice.client.listBotApiKeys({ botId })).baks).toEqual([]);
  });

  it('deletes bot keys and personal tokens only by the operation for their kind', async () => {
    const botId = await newBot(alice);
    const [key, { pat }] = await Promise.all([
      alice.client.createBotApiKey({ botId }),
      alice.client.createPersonalAccessToken({ note: 'x' }),
    ]);

    await expect(alice.client.deletePersonalAccessToken({ id: key.id })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
    await expect(alice.client.deleteBotApiKey({ id: pat.id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });

  it.each([['viewer'], ['billing'], ['developer']] as const)(
    'requires a higher role than %s for bot API keys',
    async (role) => {
      const [botId, carol] = await Promise.all([newBot(alice), api.newAccount()]);
      await api.addMember(alice.workspaceId, carol.accountId, role);
      const client = api.client(carol.token, alice.workspaceId);

      await expect(client.createBotApiKey({ botId })).rejects.toMatchObject({
        type: 'Forbidden',
        message: expect.stringContaining(role),
      });
      await expect(client.listBotApiKeys({ botId })).rejects.toMatchObject({ type: 'Forbidden' });
    },
  );

  it('audits creation and deletion of a bot API key without the key', async () => {
    const botId = await newBot(alice);
    const { id, value } = await alice.client.createBotApiKey({ botId, note: 'back end' });
    await alice.client.deleteBotApiKey({ id });

    const records = await api.sql('SELECT * FROM admin.audit_record WHERE resource_id = $1 ORDER BY recorded_at, id', [
      id,
    ]);
    const common = { workspace_id: alice.workspaceId, account_id: alice.accountId, value: botId };
    expect(records).toMatchObject([
      { ...common, operation: 'admin.botApiKeys.create' },
      { ...common, operation: 'admin.botApiKeys.delete' },
    ]);
    expect(JSON.stringify(records)).not.toContain(value);
  });

  it('does not create a bot API key during the deletion of its bot', async () => {
    const botId = await newBot(alice);
    await api.sql('BEGIN');
    await api.sql('DELETE FROM admin.bot WHERE id = $1', [botId]);

    const key = alice.client.createBotApiKey({ botId }).catch((error: unknown) => error);
    await waitFor(() => lockWaits({ query: api.sql }));
    await api.sql('COMMIT');

    expect(await key).toMatchObject({ type: 'ReferenceNotFound', message: expect.stringContaining(botId) });
  });
});
