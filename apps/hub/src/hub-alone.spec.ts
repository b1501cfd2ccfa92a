import type { WorkspaceCaller } from '@parley/contracts/access';
import type { Caller, CallerLabel, OtherBot } from '@parley/contracts/caller';
import { hub } from '@parley/contracts/hub/hub';
import { type RunningService, startService } from '@parley/testing/running-service';
import { HubConfig } from './config';
import { CountInstallationsHandler } from './installations/count-installations.handler';
import { HubModule } from './hub.module';

/** The hub without any service that it could ask. */
let service: RunningService;

beforeAll(async () => {
  service = await startService((databaseUrl, platform) =>
    HubModule.register(Object.assign(new HubConfig(), { databaseUrl, secretKey: 's'.repeat(32) }), platform),
  );
});

afterAll(() => service?.stop());

const label: CallerLabel = {
  id: 'wkspace_alone',
  name: 'Alone',
  handle: 'alone',
  updatedAt: '2026-01-01T00:00:00.000Z',
};

function callerWith(more: Partial<Caller> = {}, given: CallerLabel | undefined = label): WorkspaceCaller {
  return {
    requestId: 'test',
    credential: 'pat',
    account: { id: 'account_alone', email: 'alone@example.com' },
    workspace: { id: label.id, label: given },
    role: 'owner',
    ...more,
  };
}

const code = { node: '', browser: '' };
const unavailable = { type: 'Internal', code: 503 };

describe('a hub without admin', () => {
  it('creates, validates, publishes and deletes entries without admin, with the label of the caller', async () => {
    const caller = callerWith();
    const given = { name: 'alone/tea', version: '1.0.0' };

    const { integration } = await service.call(hub.integrations.create, caller, given);
    const { interface: declared } = await service.call(hub.interfaces.create, caller, given);
    const { plugin } = await service.call(hub.plugins.create, caller, { ...given, code });
    await service.call(hub.integrations.validateCreation, caller, { ...given, version: '2.0.0' });
    await service.call(hub.integrations.validateUpdate, caller, { id: integration.id, visibility: 'public' });
    await service.call(hub.integrations.update, caller, { id: integration.id, visibility: 'public' });
    await service.call(hub.interfaces.update, caller, { id: declared.id, public: true });
    await service.call(hub.plugins.update, caller, { id: plugin.id, visibility: 'public' });

    const shown = await service.call(hub.publicIntegrations.get, caller, { name: given.name, version: 'latest' });
    expect(shown.integration.ownerWorkspace).toEqual({ id: label.id, name: 'Alone', handle: 'alone' });
    await service.call(hub.plugins.delete, caller, { id: plugin.id });
    await service.call(hub.integrations.delete, caller, { id: integration.id });
  });

  it('refuses names of another handle by the label of the caller', async () => {
    const create = (handle: string | null) =>
      service.call(hub.interfaces.create, callerWith({}, { ...label, handle }), {
        name: 'alone/coffee',
        version: '1.0.0',
      });

    await expect(create('other')).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(create(null)).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(create('alone')).resolves.toBeDefined();
  });

  it('publishes a built-in name only for a caller whose label is that of the operator', async () => {
    const create = (isOperators: boolean) =>
      service.call(hub.interfaces.create, callerWith({}, { ...label, isOperators }), {
        name: 'hitl',
        version: '9.0.0',
        public: true,
      });

    await expect(create(false)).rejects.toMatchObject({ type: 'AlreadyExists' });
    await expect(create(true)).resolves.toBeDefined();
  });

  it.each<[OtherBot['role']]>([['owner'], ['developer'], ['viewer']])(
    'lists the integrations of another bot to the role %s in it',
    async (role) => {
      const caller = callerWith({ otherBot: { id: 'bot', role } });

      for (const list of [hub.integrations.list, hub.publicIntegrations.list])
        expect(await service.call(list, caller, { installedByBotId: 'bot' })).toMatchObject({ integrations: [] });
    },
  );

  it.each<[OtherBot['role']]>([['billing'], [null]])(
    'refuses the list of the integrations of another bot with the role %s in it',
    async (role) => {
      const caller = callerWith({ otherBot: { id: 'bot', role } });

      for (const list of [hub.integrations.list, hub.publicIntegrations.list])
        await expect(service.call(list, caller, { installedByBotId: 'bot' })).rejects.toMatchObject({
          type: 'Forbidden',
          message: 'installedByBotId "bot": bot not found, or no read access with this token.',
        });
    },
  );

  it('returns 503 without admin to a caller that brings no role and no label', async () => {
    const list = (otherBot?: OtherBot) =>
      service.call(hub.integrations.list, callerWith({ otherBot }), { installedByBotId: 'bot' });
    const workspace = { id: label.id };

    await expect(list()).rejects.toMatchObject(unavailable);
    await expect(list({ id: 'another', role: 'owner' })).rejects.toMatchObject(unavailable);
    await expect(
      service.call(hub.interfaces.create, callerWith({ workspace }), { name: 'milk', version: '1.0.0' }),
    ).rejects.toMatchObject(unavailable);
  });
});

describe('an entry that a bot has installed, by an event of admin', () => {
  it.each([
    ['integration', 'integrations', hub.integrations.delete],
    ['plugin', 'plugins', hub.plugins.delete],
  ] as const)(
    'refuses the deletion of an installed %s until an event reports that no bot has it',
    async (kind, list, operation) => {
      const caller = callerWith();
      const given = { name: `installed-${kind}`, version: '1.0.0' };
      const id =
        kind === 'integration'
          ? (await service.call(hub.integrations.create, caller, given)).integration.id
          : (await service.call(hub.plugins.create, caller, { ...given, code })).plugin.id;
      const none = { integrations: [], plugins: [] };
      const report = (revision: number, installed: { alias: string; id: string }[]) =>
        service.apps[0]!.get(CountInstallationsHandler, { strict: false }).report({
          botId: `bot_of_${kind}`,
          workspaceId: 'any',
          revision,
          ...none,
          [list]: installed,
        });
      await report(1, [{ alias: 'one', id }]);

      await expect(service.call<{ id: string }, object>(operation, caller, { id })).rejects.toMatchObject({
        type: 'ReferenceConstraint',
        message: `Cannot delete ${kind} "${id}": bots have it installed. Uninstall it from all bots first.`,
      });

      await report(2, []);
      expect(await service.call<{ id: string }, object>(operation, caller, { id })).toEqual({});
    },
  );
});
