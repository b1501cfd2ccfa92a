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

const values = [0, false, '', null, 'text', [1, [null]], { z: 1, a: { __proto__x: true } }, 1e300];

describe.each(['account', 'workspace'] as const)('a preference of the %s', (kind) => {
  const of = ({ client }: Pick<Account, 'client'>) =>
    kind === 'account'
      ? { get: (key: string) => client.getAccountPreference({ key }), set: client.setAccountPreference }
      : { get: (key: string) => client.getWorkspacePreference({ key }), set: client.setWorkspacePreference };

  it.each(values)('stores the preference %j unchanged', async (value) => {
    await of(alice).set({ key: 'value', value });

    const answer = await of(alice).get('value');
    expect(JSON.stringify(answer)).toBe(JSON.stringify({ value }));
  });

  it('returns no value of a preference before it is set, and after it is set without a value', async () => {
    const { get, set } = of(alice);

    const before = await get('theme');
    await set({ key: 'theme', value: 'dark' });
    await set({ key: 'theme', value: 'light' });
    const after = await get('theme');
    await set({ key: 'theme' });

    expect([before, after, await get('theme')]).toEqual([{}, { value: 'light' }, {}]);
  });

  it('shows a preference to its owner only', async () => {
    await of(alice).set({ key: 'mine', value: 1 });
    await of(bob).set({ key: 'mine', value: 2 });

    expect(await of(alice).get('mine')).toEqual({ value: 1 });
    expect(await of(bob).get('other')).toEqual({});
  });

  it('accepts keys of preferences of any characters, up to 200', async () => {
    const key = `a/b %?#ü ${'x'.repeat(191)}`;
    const { get, set } = of(alice);

    await set({ key, value: 1 });

    expect(await get(key)).toEqual({ value: 1 });
    await expect(get(`${key}x`)).rejects.toMatchObject({
      type: 'ResourceNotFound',
      message: expect.stringMatching(/^key must be at most 200/),
    });
  });
});

describe('a preference of a workspace', () => {
  it.each([
    ['developer', true, true],
    ['viewer', true, false],
    ['billing', false, false],
  ] as const)(
    'decides whether a %s may read and set a preference of a workspace: %s, %s',
    async (role, mayRead, maySet) => {
      const carol = await api.newAccount();
      await api.addMember(alice.workspaceId, carol.accountId, role);
      const client = api.client(carol.token, alice.workspaceId);

      for (const [call, allowed] of [
        [() => client.getWorkspacePreference({ key: 'k' }), mayRead],
        [() => client.setWorkspacePreference({ key: 'k', value: role }), maySet],
      ] as const) {
        if (allowed) await expect(call()).resolves.toBeDefined();
        else await expect(call()).rejects.toMatchObject({ type: 'Forbidden' });
      }
    },
  );

  it('writes an audit record when a preference changes', async () => {
    await alice.client.setWorkspacePreference({ key: 'audited', value: 'hush' });

    const { records } = await alice.client.getAuditRecords({ id: alice.workspaceId, pageSize: 1 });
    expect(records).toEqual([
      expect.objectContaining({
        action: 'UNKNOWN',
        operation: 'admin.workspacePreferences.set',
        resourceName: 'audited',
        value: null,
      }),
    ]);
  });
});
