import { administrativeChange } from '@parley/contracts/admin/audit';
import { hubEntryChanged } from '@parley/contracts/hub/resolution';
import { blockedSessions } from '@parley/testing/lock-waits';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../hub.module';

let api: PublicApi;
let alice: Account;
let bob: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, HubModule);
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
});

afterAll(() => api?.stop());

let names = 0;
type Given = Omit<Parameters<Account['client']['createIntegration']>[0], 'name' | 'version'>;

async function create(given: Given = {}) {
  names += 1;
  const { integration } = await alice.client.createIntegration({
    name: `changing-${names}`,
    version: '1.0.0',
    ...given,
  });
  return integration;
}

async function memberWith(role: 'administrator' | 'manager' | 'developer' | 'billing' | 'viewer') {
  const account = await api.newAccount();
  await api.addMember(alice.workspaceId, account.accountId, role);
  return api.client(account.token, alice.workspaceId);
}

async function announced(subject: string, field: string, id: string) {
  const rows = await api.sql<{ data: Record<string, unknown> }>(
    'SELECT data FROM hub.outbox WHERE subject = $1 AND data ->> $2 = $3 ORDER BY id',
    [subject, field, id],
  );
  return rows.map(({ data }) => data);
}

const schema = { type: 'object', properties: { a: { type: 'string' } } };
const other = { type: 'object', properties: { b: { type: 'string' } } };

describe('updating an integration', () => {
  it('keeps the fields of an integration that are left out', async () => {
    const before = await create({
      title: 'Tea',
      url: 'http://localhost/tea',
      configuration: { schema, identifier: { required: true, linkTemplateScript: 'link' } },
      secrets: { A: 'x' },
      attributes: { color: 'green' },
      actions: { brew: { input: { schema }, output: { schema } } },
    });

    const { integration } = await alice.client.updateIntegration({ id: before.id, description: 'Makes tea' });

    expect({ ...integration, updatedAt: '', signingSecret: '' }).toEqual({
      ...before,
      updatedAt: '',
      signingSecret: '',
      description: 'Makes tea',
    });
  });

  it('merges maps of an integration by entry, channels by message and tag, and removes entries by null', async () => {
    const { id } = await create({
      url: 'http://localhost/tea',
      identifier: { extractScript: 'extract', fallbackHandlerScript: 'fallback' },
      configuration: { schema, identifier: { linkTemplateScript: 'link' } },
      configurations: { manual: { schema }, other: { schema } },
      states: { a: { type: 'user', schema }, b: { type: 'user', schema } },
      actions: {
        brew: { title: 'Brew', input: { schema }, output: { schema } },
        pour: { input: { schema }, output: { schema } },
      },
      events: { boiled: { schema, attributes: { loud: 'yes' } } },
      secrets: { A: 'x', B: 'y' },
      attributes: { color: 'green', size: 'big' },
      user: { tags: { guest: {}, regular: {} } },
      channels: {
        counter: {
          title: 'Counter',
          messages: { text: { schema }, image: { schema } },
          conversation: { tags: { table: {}, seat: {} } },
          message: { tags: { spoon: {} } },
        },
        api: { messages: {} },
      },
    });

    const { integration } = await alice.client.updateIntegration({
      id,
      url: null,
      identifier: { extractScript: null },
      configuration: { identifier: { linkTemplateScript: null } },
      configurations: { manual: null },
      states: { a: null, c: { type: 'integration', schema } },
      actions: { brew: { input: { schema: other }, output: { schema } } },
      events: { boiled: { schema, attributes: { loud: null, quiet: 'no' } } },
      secrets: { A: null, C: 'z' },
      attributes: { color: null },
      user: { tags: { guest: null } },
      channels: {
        counter: { messages: { image: null, card: { schema } }, conversation: { tags: { seat: null, row: {} } } },
        api: null,
      },
    });

    expect(integration).toMatchObject({ url: '', secrets: ['B', 'C'] });
    expect(integration.identifier).toEqual({ fallbackHandlerScript: 'fallback' });
    expect(integration.configuration).toEqual({ schema, identifier: { required: false } });
    expect(Object.keys(integration.configurations)).toEqual(['other']);
    expect(Object.keys(integration.states).sort()).toEqual(['b', 'c']);
    expect(integration.actions['brew']).toEqual({ input: { schema: other }, output: { schema } });
    expect(Object.keys(integration.actions).sort()).toEqual(['brew', 'pour']);
    expect(integration.events).toEqual({ boiled: { schema, attributes: { quiet: 'no' } } });
    expect(integration.attributes).toEqual({ size: 'big' });
    expect(Object.keys(integration.user.tags)).toEqual(['regular']);
    expect(Object.keys(integration.channels)).toEqual(['counter']);
    expect(integration.channels['counter']).toMatchObject({ title: 'Counter', message: { tags: { spoon: {} } } });
    expect(Object.keys(integration.channels['counter']!.messages).sort()).toEqual(['card', 'text']);
    expect(Object.keys(integration.channels['counter']!.conversation.tags).sort()).toEqual(['row', 'table']);
  });

  it('accepts any name for an entry of an integration, also one that every JavaScript object has', async () => {
    const { id } = await create();
    const headers = { authorization: `Bearer ${alice.token}`, 'x-workspace-id': alice.workspaceId };
    const body =
      '{"channels":{"__proto__":{"title":"P"},"constructor":{"title":"C"}},"entities":{"toString":{"schema":{}}}}';

    const { json } = await api.send(`PUT /v1/admin/integrations/${id}`, {
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    });

    expect(Object.keys(json.integration.channels).sort()).toEqual(['__proto__', 'constructor']);
    expect(Object.keys(json.integration.entities)).toEqual(['toString']);
  });

  it('loses neither of two concurrent updates of an integration', async () => {
    const { id } = await create();
    const changes = Array.from({ length: 10 }, (_, index) => `state${index}`);

    await Promise.all(
      changes.map((name) => alice.client.updateIntegration({ id, states: { [name]: { type: 'user', schema } } })),
    );

    const { integration } = await alice.client.getIntegration({ id });
    expect(Object.keys(integration.states).sort()).toEqual(changes);
  });

  it('applies limits to stored and added entries of an integration together', async () => {
    const states = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [`s${i}`, { type: 'user' as const, schema }]),
    );
    const { id } = await create({ states });
    const more = { type: 'user' as const, schema };

    await expect(alice.client.updateIntegration({ id, states: { more } })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringMatching(/^states must have at most 20/),
    });
    await expect(alice.client.updateIntegration({ id, states: { more, s0: null } })).resolves.toBeDefined();
  });

  it('applies limits of attributes and their names to stored and added ones together', async () => {
    const attributes = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`a${index}`, 'x']));
    const { id } = await create({ attributes });

    for (const change of [{ more: 'x' }, { ...attributes, more: 'x' }, { a0: null, ['n'.repeat(201)]: 'x' }]) {
      await expect(alice.client.updateIntegration({ id, attributes: change } as never)).rejects.toMatchObject({
        type: 'InvalidPayload',
        message: expect.stringMatching(/^attributes /),
      });
    }
    await expect(alice.client.updateIntegration({ id, attributes: { more: 'x', a0: null } })).resolves.toBeDefined();
  });

  it('returns 404 for the update of an integration whose workspace is deleted meanwhile', async () => {
    const { id } = await create();
    await api.sql('BEGIN');
    await api.sql('DELETE FROM hub.integration WHERE id = $1', [id]);
    const updating = alice.client.updateIntegration({ id, code: 'x' });
    const refused = expect(updating).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await waitFor(() => blockedSessions({ query: api.sql }));

    await api.sql('COMMIT');

    await refused;
  });

  it('accepts the maximum number and length of action names', async () => {
    const { id } = await create();
    const action = { input: { schema: {} }, output: { schema: {} } };
    const names = Array.from({ length: 1000 }, (_, index) => `${index}X${'あ'.repeat(190)}${index}`);

    const { integration } = await alice.client.updateIntegration({
      id,
      actions: Object.fromEntries(names.map((name) => [name, action])),
    });

    expect(Object.keys(integration.actions)).toHaveLength(1000);
  });

  it.each([
    [{ states: { s: { type: 'user', schema: { type: 'x' } } } }, 'InvalidJsonSchema'],
    [{ interfaces: { i: { id: 'ifver_01ARZ3NDEKTSV4RRFFQ69G5FAV' } } }, 'ReferenceNotFound'],
    [{ title: '' }, 'InvalidPayload'],
    [{ secrets: { a: 'x' } }, 'InvalidPayload'],
  ])('rejects an update of an integration with %j as a whole', async (change, type) => {
    const { id, updatedAt } = await create();

    await expect(alice.client.updateIntegration({ id, description: 'new', ...change } as never)).rejects.toMatchObject({
      type,
    });
    expect((await alice.client.getIntegration({ id })).integration).toMatchObject({ description: '', updatedAt });
  });

  it('publishes an event for installations of an updated integration, and writes an audit record', async () => {
    const { id } = await create();

    await alice.client.updateIntegration({ id, title: 'New', visibility: 'public' });

    expect(await announced(hubEntryChanged.subject, 'id', id)).toEqual([
      { kind: 'integration', id, isDeleted: false, workspaceId: alice.workspaceId },
    ]);
    expect(await announced(administrativeChange.subject, 'resourceId', id)).toMatchObject([
      { operation: 'hub.integrations.create' },
      { operation: 'hub.integrations.update', value: '1.0.0, public', accountId: alice.accountId },
    ]);
  });

  it('returns 404 for an update of an integration by another workspace', async () => {
    const { id } = await create({ visibility: 'public' });

    await expect(bob.client.updateIntegration({ id, title: 'Mine' })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
  });

  it('rejects the publication of an integration under a name that another workspace has published', async () => {
    const { id, name } = await create();
    await bob.client.createIntegration({ name, version: '2.0.0', visibility: 'unlisted' });

    await expect(alice.client.updateIntegration({ id, visibility: 'public' })).rejects.toMatchObject({
      type: 'AlreadyExists',
    });
  });
});

describe('a breaking change', () => {
  const actions = { brew: { input: { schema }, output: { schema } } };
  const bypass = { 'x-bypass-breaking-changes-detection': 'true' };

  it.each(['public', 'unlisted'] as const)(
    'rejects a breaking change of a %s version with a list of the problems',
    async (visibility) => {
      const { id } = await create({ actions, visibility });

      await expect(alice.client.updateIntegration({ id, actions: { brew: null } })).rejects.toMatchObject({
        type: 'BreakingChanges',
        message: expect.stringContaining('action "brew" is removed'),
      });
      expect(Object.keys((await alice.client.getIntegration({ id })).integration.actions)).toEqual(['brew']);
    },
  );

  it('accepts a breaking change of a version that was never public, even if its workspace has it installed', async () => {
    const { id } = await create({ actions });
    const { bot } = await alice.client.createBot({});
    await alice.client.updateBot({ id: bot.id, integrations: { [id]: { enabled: true } } });
    await waitFor(async () => (await api.sql('SELECT FROM hub.installation WHERE entry_id = $1', [id])).length === 1);

    const { integration } = await alice.client.updateIntegration({ id, actions: { brew: null } });

    expect(integration.actions).toEqual({});
  });

  it('rejects a breaking change of a version that became private again while a bot has it installed', async () => {
    const { id } = await create({ actions, visibility: 'public' });
    const { bot } = await bob.client.createBot({});
    await bob.client.updateBot({ id: bot.id, integrations: { [id]: { enabled: true } } });
    await waitFor(async () => (await api.sql('SELECT FROM hub.installation WHERE entry_id = $1', [id])).length === 1);
    await alice.client.updateIntegration({ id, visibility: 'private' });

    await expect(alice.client.updateIntegration({ id, actions: { brew: null } })).rejects.toMatchObject({
      type: 'BreakingChanges',
    });
  });

  it('accepts a breaking change with the header for it', async () => {
    const { id } = await create({ actions, visibility: 'public' });

    const answer = await api.send(`PUT /v1/admin/integrations/${id}`, {
      headers: { authorization: `Bearer ${alice.token}`, 'x-workspace-id': alice.workspaceId, ...bypass },
      json: { actions: { brew: null } },
    });

    expect(answer).toMatchObject({ status: 200, json: { integration: { actions: {} } } });
  });

  it.each([
    ['a draft', {}],
    ['one under development', { dev: true, visibility: 'public' as const }],
  ])('accepts a breaking change of %s', async (_name, given) => {
    const { id } = await create({ actions, ...given });

    await expect(alice.client.updateIntegration({ id, actions: { brew: null } })).resolves.toBeDefined();
  });
});

describe('validating', () => {
  it('validates the creation of an integration with the errors of the creation, and writes nothing', async () => {
    const { name } = await create();

    expect(await alice.client.validateIntegrationCreation({ name, version: '2.0.0' })).toEqual({});

    await expect(alice.client.getIntegrationByName({ name, version: '2.0.0' })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
    await expect(alice.client.validateIntegrationCreation({ name, version: '1.0.0' })).rejects.toMatchObject({
      type: 'AlreadyExists',
    });
    await expect(
      alice.client.validateIntegrationCreation({ name, version: '2.0.0', entities: { e: { schema: { type: 1 } } } }),
    ).rejects.toMatchObject({ type: 'InvalidJsonSchema' });
  });

  it('validates the update of an integration with the errors of the update, and writes nothing', async () => {
    const { id } = await create({ visibility: 'public', events: { boiled: { schema } } });

    expect(await alice.client.validateIntegrationUpdate({ id, title: 'New' })).toEqual({});

    expect((await alice.client.getIntegration({ id })).integration.title).not.toBe('New');
    await expect(alice.client.validateIntegrationUpdate({ id, events: { boiled: null } })).rejects.toMatchObject({
      type: 'BreakingChanges',
    });
    await expect(bob.client.validateIntegrationUpdate({ id, title: 'New' })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
  });
});

describe('deleting an integration', () => {
  it('deletes an integration completely and publishes an event', async () => {
    const { id, name } = await create({ code: 'x', icon: '', visibility: 'public' });
    await alice.client.createIntegration({ name, version: '0.9.0', visibility: 'public' });

    await alice.client.deleteIntegration({ id });

    await expect(alice.client.getIntegration({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    expect(await api.sql('SELECT FROM hub.integration_code WHERE integration_id = $1', [id])).toEqual([]);
    expect((await alice.client.listPublicIntegrations({ search: name })).integrations).toMatchObject([
      { name, version: '0.9.0' },
    ]);
    expect(await announced(hubEntryChanged.subject, 'id', id)).toMatchObject([{ isDeleted: true }]);
  });

  it('refuses to delete an integration while a bot has it installed', async () => {
    const { id } = await create();
    const { bot } = await alice.client.createBot({});
    await alice.client.updateBot({ id: bot.id, integrations: { [id]: { enabled: true } } });
    const installed = () => alice.client.listIntegrations({ installedByBotId: bot.id });
    await waitFor(async () => (await installed()).integrations.length === 1);

    await expect(alice.client.deleteIntegration({ id })).rejects.toMatchObject({ type: 'ReferenceConstraint' });

    await alice.client.deleteBot({ id: bot.id });
    await waitFor(() =>
      alice.client.deleteIntegration({ id }).then(
        () => true,
        ({ type }) => type !== 'ReferenceConstraint',
      ),
    );
    await expect(alice.client.getIntegration({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });

  it('returns 404 for the deletion of an integration by another workspace', async () => {
    const { id } = await create({ visibility: 'public' });

    await expect(bob.client.deleteIntegration({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });
});

describe('verification', () => {
  it('accepts one request for verification, and another after a rejection', async () => {
    const { id } = await create();
    const status = async () => (await alice.client.getIntegration({ id })).integration.verificationStatus;
    const ask = () => alice.client.requestIntegrationVerification({ integrationId: id });

    expect(await ask()).toEqual({});
    expect(await status()).toBe('pending');
    await expect(ask()).rejects.toMatchObject({
      type: 'RelationConflict',
      message: expect.stringContaining('pending'),
    });

    await api.sql("UPDATE hub.integration SET verification_status = 'rejected' WHERE id = $1", [id]);
    await ask();
    expect(await status()).toBe('pending');
    await expect(bob.client.requestIntegrationVerification({ integrationId: id })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
  });
});

describe('rotating the signing secret', () => {
  it('rotates a signing secret: returns the new one once and keeps the encrypted old one for 24 hours', async () => {
    const { id, signingSecret } = await create();

    const { newSigningSecret } = await alice.client.rotateIntegrationSigningSecrets({ id });

    const [row] = await api.sql<{ previous_signing_secret: string; hours: number }>(
      `SELECT *, extract(epoch FROM previous_signing_secret_until - now())::float / 3600 AS hours
       FROM hub.integration WHERE id = $1`,
      [id],
    );
    expect(newSigningSecret).toMatch(/^[0-9a-f]{64}$/);
    expect(newSigningSecret).not.toBe(signingSecret);
    expect(row!.previous_signing_secret).not.toBeNull();
    expect(Math.round(row!.hours)).toBe(24);
    expect(JSON.stringify(row)).not.toMatch(new RegExp(`${signingSecret}|${newSigningSecret}`));
    await expect(bob.client.rotateIntegrationSigningSecrets({ id })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
  });
});

describe('permission to change integrations', () => {
  it.each([
    ['administrator', 'done done done done done done'],
    ['manager', 'done done done done done done'],
    ['developer', 'done Forbidden Forbidden Forbidden Forbidden done'],
    ['viewer', 'Forbidden Forbidden Forbidden Forbidden Forbidden Forbidden'],
    ['billing', 'Forbidden Forbidden Forbidden Forbidden Forbidden Forbidden'],
  ] as const)(
    'decides what a member may change as %s: draft, published, rotation, verification, deletions: %s',
    async (role, expected) => {
      const [member, draft, published] = [
        await memberWith(role),
        await create(),
        await create({ visibility: 'public' }),
      ];
      const outcome = (call: Promise<unknown>) =>
        call.then(
          () => 'done',
          ({ type }: { type: string }) => type,
        );

      const outcomes = [
        await outcome(member.updateIntegration({ id: draft.id, title: 'New' })),
        await outcome(member.updateIntegration({ id: published.id, title: 'New' })),
        await outcome(member.rotateIntegrationSigningSecrets({ id: draft.id })),
        await outcome(member.requestIntegrationVerification({ integrationId: draft.id })),
        await outcome(member.deleteIntegration({ id: published.id })),
        await outcome(member.deleteIntegration({ id: draft.id })),
      ];

      expect(outcomes.join(' ')).toBe(expected);
    },
  );
});

describe('the integrations of a workspace', () => {
  it('counts integrations of a workspace by name, without versions and those under development', async () => {
    const owner = await api.newAccount();
    const usage = async () =>
      (await owner.client.getUsage({ id: owner.workspaceId, type: 'integrations_owned_count' })).usage.value;

    for (const [name, version] of [
      ['tea', '1.0.0'],
      ['tea', '1.1.0'],
      ['milk', '1.0.0'],
    ] as const)
      await owner.client.createIntegration({ name, version });
    await owner.client.createIntegration({ name: 'sugar', version: '1.0.0', dev: true });
    await waitFor(usage, (value) => value === 2);

    const { integration } = await owner.client.getIntegrationByName({ name: 'milk', version: '1.0.0' });
    await owner.client.deleteIntegration({ id: integration.id });
    await waitFor(usage, (value) => value === 1);
  });

  it('limits integrations to 200 versions per name', async () => {
    const { id, name } = await create();
    await api.sql(
      `INSERT INTO hub.integration SELECT (jsonb_populate_record(integration,
         jsonb_build_object('id', 'intver_' || lpad((1000 + n)::text, 26, '0'), 'version', '2.0.' || n))).*
       FROM hub.integration, generate_series(1, 199) AS n WHERE id = $1`,
      [id],
    );

    await expect(alice.client.createIntegration({ name, version: '3.0.0' })).rejects.toMatchObject({
      type: 'LimitExceeded',
      message: expect.stringContaining('200 versions'),
    });
    await expect(bob.client.createIntegration({ name, version: '3.0.0' })).resolves.toBeDefined();
    await expect(alice.client.createIntegration({ name, version: '3.0.0', dev: true })).resolves.toBeDefined();
  });
});
