import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';

type Role = Parameters<PublicApi['addMember']>[2];

let api: PublicApi;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
});

afterAll(() => api?.stop());

async function emailOf({ accountId }: Account): Promise<string> {
  const [row] = await api.sql<{ email: string }>('SELECT email FROM admin.account WHERE id = $1', [accountId]);
  return row!.email;
}

async function join(owner: Account, role: Role) {
  const account = await api.newAccount();
  await api.addMember(owner.workspaceId, account.accountId, role);
  const client = api.client(account.token, owner.workspaceId);
  return { ...account, client, memberId: (await client.getWorkspaceMember({})).id };
}

async function ownMemberId(account: Account): Promise<string> {
  return (await account.client.getWorkspaceMember({})).id;
}

describe('adding a member', () => {
  it("adds a member by the address of an account, and returns the account's name and picture", async () => {
    const [alice, carol] = await Promise.all([api.newAccount(), api.newAccount()]);
    await carol.client.updateAccount({ displayName: 'Carol', profilePicture: 'https://example.com/c.png' });
    const email = await emailOf(carol);

    const member = await alice.client.createWorkspaceMember({ email: email.toUpperCase(), role: 'developer' });

    expect(member).toEqual({
      id: expect.stringMatching(/^member_[0-9A-Z]{26}$/),
      userId: carol.accountId,
      email,
      createdAt: expect.stringMatching(/Z$/),
      role: 'developer',
      displayName: 'Carol',
      profilePicture: 'https://example.com/c.png',
    });
    const hers = api.client(carol.token, alice.workspaceId);
    expect(await hers.getWorkspaceMember({})).toEqual(member);
    await expect(hers.createBot({})).resolves.toBeDefined();
  });

  it('audits the addition, change and removal of a member', async () => {
    const [alice, carol] = await Promise.all([api.newAccount(), api.newAccount()]);
    const email = await emailOf(carol);

    const { id } = await alice.client.createWorkspaceMember({ email, role: 'viewer', sendEmail: true });
    await alice.client.updateWorkspaceMember({ id, role: 'manager' });
    await alice.client.deleteWorkspaceMember({ id });

    const { records } = await alice.client.getAuditRecords({ id: alice.workspaceId });
    expect(
      records.map(({ action, value, resourceId, resourceName }) => [action, value, resourceId, resourceName]),
    ).toEqual([
      ['REMOVE_WORKSPACE_MEMBER', null, id, email],
      ['UPDATE_WORKSPACE_MEMBER', 'manager', id, email],
      ['ADD_WORKSPACE_MEMBER', 'viewer', id, email],
    ]);
  });

  it('returns an error with the address if a member to add has no account', async () => {
    const alice = await api.newAccount();

    await expect(
      alice.client.createWorkspaceMember({ email: 'nobody@example.com', role: 'viewer' }),
    ).rejects.toMatchObject({
      type: 'ReferenceNotFound',
      message: 'email: no account has "nobody@example.com". The operator must create the account first.',
    });
  });

  it('adds a member once for concurrent requests', async () => {
    const [alice, carol] = await Promise.all([api.newAccount(), api.newAccount()]);
    const email = await emailOf(carol);

    const results = await Promise.allSettled(
      Array.from({ length: 3 }, () => alice.client.createWorkspaceMember({ email, role: 'viewer' })),
    );

    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.type] : []));
    expect(failures).toEqual(['AlreadyExists', 'AlreadyExists']);
  });
});

describe('listing members', () => {
  it('lists each member once, newest first, page by page', async () => {
    const alice = await api.newAccount();
    const others = [await join(alice, 'viewer'), await join(alice, 'manager'), await join(alice, 'billing')];
    await api.sql("UPDATE admin.workspace_member SET created_at = '2026-01-01' WHERE workspace_id = $1", [
      alice.workspaceId,
    ]);
    const fourth = await join(alice, 'developer');

    const first = await alice.client.listWorkspaceMembers({ pageSize: 2 });
    const second = await alice.client.listWorkspaceMembers({ pageSize: 3, nextToken: first.meta.nextToken });

    expect([first.members.length, second.members.length, second.meta]).toEqual([2, 3, {}]);
    expect(first.members[0]).toMatchObject({ id: fourth.memberId, userId: fourth.accountId, role: 'developer' });
    expect([...first.members, ...second.members].map(({ userId }) => userId).sort()).toEqual(
      [alice, ...others, fourth].map(({ accountId }) => accountId).sort(),
    );
  });

  it('requires read permission to list members, and rejects a page token of another workspace', async () => {
    const [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
    const [viewer, billing] = await Promise.all([join(alice, 'viewer'), join(alice, 'billing')]);
    const { nextToken } = (await viewer.client.listWorkspaceMembers({ pageSize: 1 })).meta;

    await expect(billing.client.listWorkspaceMembers({})).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(bob.client.listWorkspaceMembers({ nextToken })).rejects.toMatchObject({ type: 'InvalidQuery' });
    await expect(api.client(bob.token, alice.workspaceId).listWorkspaceMembers({})).rejects.toMatchObject({
      type: 'Forbidden',
    });
  });
});

describe('a role', () => {
  it('changes a role with effect on the next request', async () => {
    const alice = await api.newAccount();
    const carol = await join(alice, 'developer');
    await carol.client.createBot({});

    const changed = await alice.client.updateWorkspaceMember({ id: carol.memberId, role: 'viewer' });

    expect(changed).toMatchObject({ id: carol.memberId, userId: carol.accountId, role: 'viewer' });
    await expect(carol.client.createBot({})).rejects.toMatchObject({ type: 'Forbidden' });
  });

  it('keeps a role when the update leaves it out', async () => {
    const alice = await api.newAccount();
    const carol = await join(alice, 'developer');

    expect(await alice.client.updateWorkspaceMember({ id: carol.memberId })).toMatchObject({ role: 'developer' });
  });

  it.each(['manager', 'developer', 'billing', 'viewer'] as const)(
    'forbids a %s to administer members',
    async (role) => {
      const alice = await api.newAccount();
      const [carol, other] = await Promise.all([join(alice, role), join(alice, 'viewer')]);
      const refused = { type: 'Forbidden', message: expect.stringContaining(role) };

      await expect(
        carol.client.createWorkspaceMember({ email: 'x@example.com', role: 'viewer' }),
      ).rejects.toMatchObject(refused);
      await expect(carol.client.updateWorkspaceMember({ id: carol.memberId, role: 'owner' })).rejects.toMatchObject(
        refused,
      );
      await expect(carol.client.deleteWorkspaceMember({ id: other.memberId })).rejects.toMatchObject(refused);
    },
  );

  it('lets an administrator administer all members except owners', async () => {
    const [alice, stranger] = await Promise.all([api.newAccount(), api.newAccount()]);
    const [admin, carol] = await Promise.all([join(alice, 'administrator'), join(alice, 'viewer')]);
    const owner = await ownMemberId(alice);
    const refused = { type: 'Forbidden', message: 'Only an owner of the workspace may add, change or remove owners.' };

    await expect(
      admin.client.updateWorkspaceMember({ id: carol.memberId, role: 'administrator' }),
    ).resolves.toBeDefined();
    await expect(
      admin.client.createWorkspaceMember({ email: await emailOf(stranger), role: 'owner' }),
    ).rejects.toMatchObject(refused);
    await expect(admin.client.updateWorkspaceMember({ id: carol.memberId, role: 'owner' })).rejects.toMatchObject(
      refused,
    );
    await expect(admin.client.updateWorkspaceMember({ id: owner, role: 'viewer' })).rejects.toMatchObject(refused);
    await expect(admin.client.deleteWorkspaceMember({ id: owner })).rejects.toMatchObject(refused);
    await expect(admin.client.deleteWorkspaceMember({ id: carol.memberId })).resolves.toEqual({});
  });
});

describe('removing a member', () => {
  it('rejects the next request of a removed member', async () => {
    const alice = await api.newAccount();
    const carol = await join(alice, 'developer');
    await carol.client.listBots({});

    await alice.client.deleteWorkspaceMember({ id: carol.memberId });

    await expect(carol.client.listBots({})).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(alice.client.deleteWorkspaceMember({ id: carol.memberId })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
  });

  it.each(['administrator', 'billing', 'viewer'] as const)('lets members remove themselves as %s', async (role) => {
    const alice = await api.newAccount();
    const carol = await join(alice, role);

    await carol.client.deleteWorkspaceMember({ id: carol.memberId });

    await expect(carol.client.getWorkspaceMember({})).rejects.toMatchObject({ type: 'Forbidden' });
  });

  it('returns the same 404 for a member of another workspace as for a missing one', async () => {
    const [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
    const foreign = await join(bob, 'viewer');

    for (const id of [foreign.memberId, 'member_none']) {
      const missing = { type: 'ResourceNotFound', message: `The member "${id}" was not found.` };
      await expect(alice.client.deleteWorkspaceMember({ id })).rejects.toMatchObject(missing);
      await expect(alice.client.updateWorkspaceMember({ id, role: 'viewer' })).rejects.toMatchObject(missing);
    }
    await expect(foreign.client.getWorkspaceMember({})).resolves.toMatchObject({ role: 'viewer' });
  });
});

describe('the last owner', () => {
  const refused = { type: 'ReferenceConstraint', message: expect.stringMatching(/owner first/) };

  it('refuses to remove or demote the last owner until there is another one', async () => {
    const alice = await api.newAccount();
    const [carol, id] = await Promise.all([join(alice, 'administrator'), ownMemberId(alice)]);

    await expect(alice.client.deleteWorkspaceMember({ id })).rejects.toMatchObject(refused);
    await expect(alice.client.updateWorkspaceMember({ id, role: 'viewer' })).rejects.toMatchObject(refused);
    await alice.client.updateWorkspaceMember({ id: carol.memberId, role: 'owner' });
    await alice.client.deleteWorkspaceMember({ id });

    const workspace = await carol.client.getWorkspace({ id: alice.workspaceId });
    expect(workspace.ownerId).toBe(carol.accountId);
  });

  it('keeps one owner when two owners demote each other concurrently', async () => {
    const alice = await api.newAccount();
    const carol = await join(alice, 'owner');
    const hers = await ownMemberId(alice);

    for (let round = 0; round < 5; round++) {
      const results = await Promise.allSettled([
        alice.client.updateWorkspaceMember({ id: carol.memberId, role: 'administrator' }),
        carol.client.updateWorkspaceMember({ id: hers, role: 'administrator' }),
      ]);

      const owners = await api.sql("SELECT 1 FROM admin.workspace_member WHERE workspace_id = $1 AND role = 'owner'", [
        alice.workspaceId,
      ]);
      expect(owners).toHaveLength(1);
      expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      await api.sql("UPDATE admin.workspace_member SET role = 'owner' WHERE workspace_id = $1", [alice.workspaceId]);
    }
  });

  it('keeps one owner when both owners leave concurrently', async () => {
    const alice = await api.newAccount();
    const carol = await join(alice, 'owner');
    const hers = await ownMemberId(alice);

    const results = await Promise.allSettled([
      alice.client.deleteWorkspaceMember({ id: hers }),
      carol.client.deleteWorkspaceMember({ id: carol.memberId }),
    ]);

    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });
});
