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

describe('a workspace', () => {
  it('creates a workspace for its owner and returns all fields', async () => {
    const workspace = await alice.client.createWorkspace({ name: 'Tea' });

    expect(workspace).toEqual({
      id: expect.stringMatching(/^wkspace_[0-9A-Z]{26}$/),
      name: 'Tea',
      ownerId: alice.accountId,
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: workspace.createdAt,
      botCount: 0,
      billingVersion: 'v1',
      plan: 'community',
      blocked: false,
      spendingLimit: 0,
      about: '',
      profilePicture: '',
      contactEmail: '',
      website: '',
      socialAccounts: [],
      isPublic: false,
      activeTrialId: null,
    });
    expect(await alice.client.getWorkspace({ id: workspace.id })).toEqual(workspace);
    await expect(api.client(alice.token, workspace.id).createBot({})).resolves.toBeDefined();
  });

  it("returns the same 404 for reading another's workspace as a missing one", async () => {
    for (const id of [bob.workspaceId, 'wkspace_none']) {
      const error = { type: 'ResourceNotFound', message: `The workspace "${id}" was not found.` };
      await expect(alice.client.getWorkspace({ id })).rejects.toMatchObject(error);
      await expect(alice.client.updateWorkspace({ id, name: 'mine' })).rejects.toMatchObject(error);
    }
    expect((await bob.client.getWorkspace({ id: bob.workspaceId })).name).not.toBe('mine');
  });

  it('shows a workspace to every member, including billing', async () => {
    const carol = await api.newAccount();
    await api.addMember(alice.workspaceId, carol.accountId, 'billing');

    expect((await carol.client.getWorkspace({ id: alice.workspaceId })).id).toBe(alice.workspaceId);
  });
});

describe('listing workspaces', () => {
  it("lists the account's workspaces, newest first, page by page", async () => {
    const { client, workspaceId } = await api.newAccount();
    for (const name of ['one', 'two', 'three']) await client.createWorkspace({ name });
    const whole = await client.listWorkspaces({});
    await api.sql("UPDATE admin.workspace SET created_at = '2026-01-01' WHERE id = ANY($1)", [
      whole.workspaces.map(({ id }) => id),
    ]);

    const ask = async (query: string) =>
      (
        await api.send(`GET /v1/admin/workspaces?${query}`, {
          headers: { authorization: `Bearer ${(await client.createPersonalAccessToken({ note: '' })).pat.value}` },
        })
      ).json;
    const first = await ask('limit=3');
    const second = await ask(`limit=3&nextToken=${first.meta.nextToken}`);

    expect(whole.workspaces.map(({ name }) => name).slice(0, 3)).toEqual(['three', 'two', 'one']);
    expect(whole.workspaces.at(-1)!.id).toBe(workspaceId);
    expect([first.workspaces.length, second.workspaces.length, second.meta]).toEqual([3, 1, {}]);
    expect(new Set([...first.workspaces, ...second.workspaces].map(({ id }: { id: string }) => id)).size).toBe(4);
  });

  it("filters the account's workspaces by handle", async () => {
    const handle = 'handle-of-alice';
    await alice.client.updateWorkspace({ id: alice.workspaceId, handle });

    const mine = await alice.client.listWorkspaces({ handle });
    const none = await alice.client.listWorkspaces({ handle: 'nobodys' });
    const foreign = await bob.client.listWorkspaces({ handle });

    expect(mine.workspaces.map(({ id }) => id)).toEqual([alice.workspaceId]);
    expect([...none.workspaces, ...foreign.workspaces]).toEqual([]);
  });
});

describe('updating a workspace', () => {
  it('changes the given fields of a workspace and keeps the others', async () => {
    const { id } = await alice.client.createWorkspace({ name: 'Tea' });
    const change = {
      name: 'Coffee',
      about: 'Beans',
      profilePicture: 'https://example.com/a.png',
      contactEmail: 'a@example.com',
      website: 'https://example.com',
      socialAccounts: ['@coffee'],
      isPublic: true,
      handle: 'coffee',
    };

    const changed = await alice.client.updateWorkspace({ id, ...change });
    const again = await alice.client.updateWorkspace({
      id,
      about: '',
      socialAccounts: [],
      isPublic: false,
      spendingLimit: 100,
    });

    expect(changed).toMatchObject(change);
    expect(again).toMatchObject({ ...change, about: '', socialAccounts: [], isPublic: false, spendingLimit: 0 });
    expect(await alice.client.getWorkspace({ id })).toEqual(again);
    expect(Date.parse(again.updatedAt)).toBeGreaterThanOrEqual(Date.parse(changed.updatedAt));
  });

  it('increases updatedAt of a workspace also when the clock stands still, for other services', async () => {
    const { id } = await alice.client.createWorkspace({ name: 'Clock' });
    await api.sql("UPDATE admin.workspace SET updated_at = now() + interval '1 hour' WHERE id = $1", [id]);
    const before = await alice.client.getWorkspace({ id });

    const after = await alice.client.updateWorkspace({ id, name: 'Later' });

    expect(Date.parse(after.updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt));
  });

  it('returns AlreadyExists for a handle that is taken, also for concurrent requests', async () => {
    const results = await Promise.allSettled(
      [alice, bob].map(({ client, workspaceId: id }) => client.updateWorkspace({ id, handle: 'wanted' })),
    );

    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(results.find((result) => result.status === 'rejected')).toMatchObject({
      reason: { type: 'AlreadyExists', message: 'handle: "wanted" is taken. Choose another one.' },
    });
  });

  it('changes nothing when a workspace is updated to its own handle', async () => {
    const { id } = await alice.client.createWorkspace({ name: 'x' });
    await alice.client.updateWorkspace({ id, handle: 'own-handle' });

    expect((await alice.client.updateWorkspace({ id, handle: 'own-handle' })).handle).toBe('own-handle');
  });

  it.each([
    ['administrator', true],
    ['manager', false],
    ['developer', false],
    ['billing', false],
    ['viewer', false],
  ] as const)('decides whether a member may update a workspace as %s: %s', async (role, allowed) => {
    const carol = await api.newAccount();
    await api.addMember(alice.workspaceId, carol.accountId, role);

    const update = carol.client.updateWorkspace({ id: alice.workspaceId, about: role });

    if (allowed) await expect(update).resolves.toMatchObject({ about: role });
    else await expect(update).rejects.toMatchObject({ type: 'Forbidden', message: expect.stringContaining(role) });
  });
});

describe('a workspace that a client wants to migrate', () => {
  it('returns a workspace that a client wants to migrate unchanged, to those who may change it', async () => {
    const { client, workspaceId: id } = alice;
    const before = await client.getWorkspace({ id });

    expect(await client.migrateWorkspaceToV4({ id })).toEqual({});
    expect(await client.getWorkspace({ id })).toEqual(before);
    const bob = await api.newAccount();
    await expect(bob.client.migrateWorkspaceToV4({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });
});

describe('a public workspace', () => {
  it('shows public fields of a public workspace to every account', async () => {
    const { id } = await alice.client.createWorkspace({ name: 'Open', billingVersion: 'v4' });
    const about = {
      about: 'Doors',
      profilePicture: 'https://example.com/o.png',
      contactEmail: 'o@example.com',
      website: 'https://example.com',
      socialAccounts: ['@open'],
    };
    const { createdAt, updatedAt } = await alice.client.updateWorkspace({ id, ...about, isPublic: true });

    const open = await bob.client.getPublicWorkspace({ id });

    expect(open).toEqual({ id, name: 'Open', createdAt, updatedAt, ...about, handle: '' });
  });

  it('returns the same 404 for a private workspace as for a missing one, also for its members', async () => {
    for (const id of [alice.workspaceId, 'wkspace_none']) {
      await expect(alice.client.getPublicWorkspace({ id })).rejects.toMatchObject({
        type: 'ResourceNotFound',
        message: `The public workspace "${id}" was not found.`,
      });
    }
  });

  it('lists public workspaces by id and by words, newest first, each once', async () => {
    const names = ['Alpha', 'Beta', 'Gamma_', 'Delta'];
    const ids: string[] = [];
    for (const name of names) {
      const { id } = await alice.client.createWorkspace({ name: `${name} of the list` });
      await alice.client.updateWorkspace({ id, isPublic: name !== 'Delta', about: `About ${name}` });
      ids.push(id);
    }
    await alice.client.updateWorkspace({ id: ids[1]!, handle: 'beta-handle' });
    const found = async (query: Parameters<typeof bob.client.listPublicWorkspaces>[0]) =>
      (await bob.client.listPublicWorkspaces(query)).workspaces.map(({ id }) => ids.indexOf(id));

    expect(await found({ workspaceIds: ids })).toEqual([2, 1, 0]);
    expect(await found({ search: 'OF THE LIST' })).toEqual([2, 1, 0]);
    expect(await found({ search: 'about alpha' })).toEqual([0]);
    expect(await found({ search: 'eta-hand' })).toEqual([1]);
    expect(await found({ search: 'a_' })).toEqual([2]);
    expect(await found({ search: 'Delta' })).toEqual([]);
    expect(await found({ search: '%' })).toEqual([]);

    const first = await bob.client.listPublicWorkspaces({ workspaceIds: ids, pageSize: 2 });
    const second = await bob.client.listPublicWorkspaces({
      workspaceIds: ids,
      pageSize: 2,
      nextToken: first.meta.nextToken,
    });
    expect([...first.workspaces, ...second.workspaces].map(({ id }) => ids.indexOf(id))).toEqual([2, 1, 0]);
    expect(second.meta).toEqual({});
    await expect(bob.client.listPublicWorkspaces({ nextToken: first.meta.nextToken })).rejects.toMatchObject({
      type: 'InvalidQuery',
    });
  });
});

describe('the availability of a handle', () => {
  it('reports a handle as available when no workspace has it', async () => {
    expect(await alice.client.checkHandleAvailability({ handle: 'not-taken' })).toEqual({
      available: true,
      suggestions: [],
    });
  });

  it('returns the public workspace that has a handle, and five free handles', async () => {
    const { id } = await alice.client.createWorkspace({ name: 'Taken' });
    await alice.client.updateWorkspace({ id, handle: 'taken' });
    const second = await alice.client.createWorkspace({ name: 'Second' });
    await alice.client.updateWorkspace({ id: second.id, handle: 'taken-2' });

    const hidden = await bob.client.checkHandleAvailability({ handle: 'taken' });
    await alice.client.updateWorkspace({ id, isPublic: true });
    const open = await bob.client.checkHandleAvailability({ handle: 'taken' });

    const suggestions = ['taken-3', 'taken-4', 'taken-5', 'taken-6', 'taken-7'];
    expect(hidden).toEqual({ available: false, suggestions });
    expect(open).toEqual({ available: false, suggestions, usedBy: 'Taken' });
    for (const handle of suggestions) await alice.client.updateWorkspace({ id, handle });
  });

  it.each([['-edge-'], ['_'], ['-'.repeat(64)], ['x'.repeat(64)]])(
    'suggests only valid handles instead of %s',
    async (handle) => {
      const { id } = await alice.client.createWorkspace({ name: 'x' });
      if (handle.startsWith('x')) await alice.client.updateWorkspace({ id, handle });

      const { available, suggestions } = await alice.client.checkHandleAvailability({ handle });

      expect([available, suggestions.length]).toEqual([false, 5]);
      for (const one of suggestions)
        await expect(alice.client.updateWorkspace({ id, handle: one })).resolves.toBeDefined();
    },
  );
});

describe('deleting a workspace', () => {
  it('deletes members with their workspace, publishes an event, and keeps audit records', async () => {
    const [{ client, workspaceId: id }, carol] = await Promise.all([api.newAccount(), api.newAccount()]);
    await api.addMember(id, carol.accountId, 'developer');
    const hers = api.client(carol.token, id);
    await hers.listBots({});

    await client.deleteWorkspace({ id });

    await expect(hers.listBots({})).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(client.getWorkspace({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    expect(await api.sql("SELECT subject FROM admin.outbox WHERE data ->> 'workspaceId' = $1", [id])).toEqual([
      { subject: 'admin.workspaceDeleted' },
    ]);
    expect(await api.sql('SELECT action FROM admin.audit_record WHERE workspace_id = $1', [id])).toContainEqual({
      action: 'CLOSE_WORKSPACE',
    });
  });

  it('refuses to delete a workspace while it has bots', async () => {
    const { client, workspaceId: id } = await api.newAccount();
    const { bot } = await client.createBot({});

    await expect(client.deleteWorkspace({ id })).rejects.toMatchObject({
      type: 'ReferenceConstraint',
      message: expect.stringContaining('has bots'),
    });
    await client.deleteBot({ id: bot.id });

    await expect(client.deleteWorkspace({ id })).resolves.toEqual({});
  });

  it.each(['administrator', 'manager', 'billing'] as const)(
    'requires a higher role than %s to delete a workspace',
    async (role) => {
      const carol = await api.newAccount();
      await api.addMember(alice.workspaceId, carol.accountId, role);

      await expect(carol.client.deleteWorkspace({ id: alice.workspaceId })).rejects.toMatchObject({
        type: 'Forbidden',
      });
    },
  );

  it("returns the same 404 for deleting another's workspace as a missing one", async () => {
    for (const id of [bob.workspaceId, 'wkspace_none']) {
      await expect(alice.client.deleteWorkspace({ id })).rejects.toMatchObject({
        type: 'ResourceNotFound',
        message: `The workspace "${id}" was not found.`,
      });
    }
  });
});

it('returns no invoices of a workspace, and only to its members', async () => {
  const { client, workspaceId: id } = alice;

  expect(await client.listWorkspaceInvoices({ id })).toEqual({ invoices: [] });
  expect(await client.getUpcomingInvoice({ id })).toEqual({ total: 0, lineItems: [] });
  expect(await client.chargeWorkspaceUnpaidInvoices({ id })).toEqual({ chargedInvoices: [], failedInvoices: [] });
  await expect(client.chargeWorkspaceUnpaidInvoices({ id, invoiceIds: ['in_1'] })).rejects.toMatchObject({
    type: 'ResourceNotFound',
  });
  await expect(client.listWorkspaceInvoices({ id: bob.workspaceId })).rejects.toMatchObject({ code: 404 });
});
