import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';

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
  return {
    id: account.accountId,
    client: api.client(account.token, alice.workspaceId),
    asBot: (botId: string) => api.client(account.token, undefined, botId),
  };
}

async function newBot() {
  const { id } = (await alice.client.createBot({ code: '1' })).bot;
  return {
    id,
    get: () => alice.client.getBotAllowlist({ botId: id }),
    update: (changes: Omit<Parameters<typeof alice.client.updateBotAllowlist>[0], 'botId'>) =>
      alice.client.updateBotAllowlist({ botId: id, ...changes }),
  };
}

describe('the allowlist of a bot', () => {
  it('admits all users of the workspace to a bot by default', async () => {
    expect(await (await newBot()).get()).toEqual({ setting: 'ALL_WORKSPACE_USERS', users: [] });
  });

  it('adds single members to an allowlist, removes them and keeps the others', async () => {
    const { get, update } = await newBot();
    const [one, two, three] = await Promise.all([memberWith('viewer'), memberWith('viewer'), memberWith('viewer')]);

    await update({ users: { [one.id]: true, [two.id]: true, [three.id]: false } });
    await update({ setting: 'SELECTED_USERS' });
    await update({ users: { [one.id]: false, [two.id]: true, [three.id]: true } });

    expect(await get()).toEqual({
      setting: 'SELECTED_USERS',
      users: [two.id, three.id].sort().map((id) => ({ id })),
    });
  });

  it('keeps every member that concurrent requests add to an allowlist', async () => {
    const { get, update } = await newBot();
    const members = await Promise.all(Array.from({ length: 6 }, () => memberWith('viewer')));

    await Promise.all(members.map(({ id }) => update({ users: { [id]: true } })));

    expect((await get()).users).toHaveLength(6);
  });

  it('drops a member who leaves the workspace from the allowlist', async () => {
    const { get, update } = await newBot();
    const { id } = await memberWith('viewer');
    await update({ users: { [id]: true } });

    await api.sql('DELETE FROM admin.workspace_member WHERE account_id = $1 AND workspace_id = $2', [
      id,
      alice.workspaceId,
    ]);

    expect((await get()).users).toEqual([]);
  });

  it('applies an update of an allowlist completely or not at all', async () => {
    const { get, update } = await newBot();
    const { id } = await memberWith('viewer');

    const stranger = update({ setting: 'SELECTED_USERS', users: { [id]: true, [bob.accountId]: true } });

    await expect(stranger).rejects.toMatchObject({
      type: 'ReferenceNotFound',
      message: `users: "${bob.accountId}" is not a member of this workspace.`,
    });
    expect(await get()).toEqual({ setting: 'ALL_WORKSPACE_USERS', users: [] });
  });

  it('lets managers and higher roles update the allowlist of a bot, with an audit record', async () => {
    const { id } = await newBot();
    const [manager, developer] = await Promise.all([memberWith('manager'), memberWith('developer')]);
    const change = { botId: id, setting: 'SELECTED_USERS' as const };

    await expect(developer.client.updateBotAllowlist(change)).rejects.toMatchObject({ type: 'Forbidden' });
    await manager.client.updateBotAllowlist(change);

    expect(
      await api.sql(
        "SELECT account_id, action FROM admin.audit_record WHERE resource_id = $1 AND operation = 'admin.botAllowlist.update'",
        [id],
      ),
    ).toEqual([{ account_id: manager.id, action: 'UPDATE_BOT' }]);
  });

  it('returns the same 404 for the allowlist of a bot of another workspace as of a missing bot', async () => {
    const { id, get } = await newBot();

    for (const attempt of [
      () => bob.client.getBotAllowlist({ botId: id }),
      () => bob.client.updateBotAllowlist({ botId: id, setting: 'SELECTED_USERS' }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({
        type: 'ResourceNotFound',
        message: `The bot "${id}" was not found.`,
      });
    }
    expect((await get()).setting).toBe('ALL_WORKSPACE_USERS');
  });
});

describe('a bot for selected users', () => {
  it.each(['developer', 'viewer'] as const)(
    'hides a bot for selected users from a %s who is not selected',
    async (role) => {
      const { id, update } = await newBot();
      const { id: versionId } = (await alice.client.listBotVersions({ id })).versions[0]!;
      const { client, asBot } = await memberWith(role);
      await asBot(id).listFiles({}).catch(noSuchService);

      await update({ setting: 'SELECTED_USERS' });

      const attempts = [
        () => client.getBot({ id }),
        () => client.getBotAllowlist({ botId: id }),
        () => client.listBotVersions({ id }),
        () => client.getBotVersion({ id, versionId }),
        ...(role === 'developer'
          ? [
              () => client.updateBot({ id, name: 'x' }),
              () => client.createBotVersion({ id, name: 'x' }),
              () => client.deployBotVersion({ id, versionId }),
            ]
          : []),
      ];
      for (const attempt of attempts) {
        await expect(attempt()).rejects.toMatchObject({
          type: 'ResourceNotFound',
          message: `The bot "${id}" was not found.`,
        });
      }
      await expect(asBot(id).listFiles({})).rejects.toMatchObject({
        type: 'Forbidden',
        message: `x-bot-id "${id}" was not found, or this token has no access to it.`,
      });
      expect((await client.listBots({ pageSize: 200 })).bots.map((bot) => bot.id)).not.toContain(id);
    },
  );

  it('shows a bot for selected users to a selected member, with the permissions of their role', async () => {
    const { id, update } = await newBot();
    const [developer, viewer] = await Promise.all([memberWith('developer'), memberWith('viewer')]);

    await update({ setting: 'SELECTED_USERS', users: { [developer.id]: true, [viewer.id]: true } });

    await developer.client.updateBot({ id, name: 'x' });
    expect((await viewer.client.getBot({ id })).bot.name).toBe('x');
    expect((await viewer.client.listBots({ pageSize: 200 })).bots.map((bot) => bot.id)).toContain(id);
    await expect(viewer.client.updateBot({ id, name: 'y' })).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(viewer.asBot(id).listFiles({})).rejects.toMatchObject(nobodyAnswers);
  });

  it.each(['administrator', 'manager'] as const)(
    'shows a bot for selected users to every %s, and to its own key',
    async (role) => {
      const { id, update } = await newBot();
      const { value } = await alice.client.createBotApiKey({ botId: id });
      const { client, asBot } = await memberWith(role);

      await update({ setting: 'SELECTED_USERS' });

      expect((await client.getBot({ id })).bot.id).toBe(id);
      expect((await client.listBots({ pageSize: 200 })).bots.map((bot) => bot.id)).toContain(id);
      expect((await api.client(value).getBot({ id })).bot.id).toBe(id);
      await expect(asBot(id).listFiles({})).rejects.toMatchObject(nobodyAnswers);
    },
  );
});

/** Error after authorisation succeeded: the files service does not run in this spec. */
const nobodyAnswers = { type: 'Internal', code: 500 };

function noSuchService(error: { type: string }): void {
  expect(error.type).toBe(nobodyAnswers.type);
}
