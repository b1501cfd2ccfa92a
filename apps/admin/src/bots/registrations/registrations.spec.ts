import { Client } from '@botpress/client';
import { Controller, type DynamicModule, Module } from '@nestjs/common';
import { admin } from '@parley/contracts/admin/admin';
import { registerInstallations, type RegistrationsPending } from '@parley/contracts/admin/registrations';
import { systemCaller } from '@parley/contracts/caller';
import { newId } from '@parley/persistence/ids';
import type { ProcessConfig } from '@parley/service/config';
import type { Platform } from '@parley/service/platform';
import { TransportModule } from '@parley/service/transport.module';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { Consumes } from '@parley/transport/handles';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { FakeHub, FakeHubModule } from '../../test/fake-hub.module';
import { RegistrationsService } from './registrations.service';

const hub = new FakeHub();
const probe = hub.addIntegration('intver_probe', { name: 'probe' });
/** Work of the runtime on the registrations of a bot. */
let register: (botId: string) => Promise<void>;

@Controller()
class RegistrationsHandler {
  @Consumes(registerInstallations)
  handle({ botId }: RegistrationsPending): Promise<void> {
    return register(botId);
  }
}

@Module({})
class StandInRuntimeModule {
  static register(config: ProcessConfig, platform: Platform): DynamicModule {
    const imports = [TransportModule.register({ name: 'runtime' }, config, platform)];
    return { module: StandInRuntimeModule, imports, controllers: [RegistrationsHandler] };
  }
}

let api: PublicApi;
let alice: Account;
const settle = (botId: string, failure?: string, revision = 1) =>
  api.call(admin.registrations.settle, systemCaller(newId('req')), {
    ...{ botId, kind: 'register', id: 'probe', revision, failure },
  });

beforeEach(() => (register = () => Promise.resolve()));
afterEach(realClock);

async function installedBot() {
  const { id } = (await alice.client.createBot({})).bot;
  const { bot } = await alice.client.updateBot({ id, integrations: { [probe]: {} } });
  return { id, integration: bot.integrations[probe]! };
}

describe('a change of installations, while a runtime registers them', () => {
  beforeAll(async () => {
    api = await startPublicApi(GatewayModule, AdminModule, FakeHubModule.of(hub), StandInRuntimeModule);
    alice = await api.newAccount();
  });

  afterAll(() => api.stop());

  it('answers a change of installations with the outcome that the integration has', async () => {
    register = async (botId) => void (await settle(botId, 'The token is wrong.'));

    expect((await installedBot()).integration).toMatchObject({
      ...{ status: 'registration_failed', statusReason: 'The token is wrong.' },
    });
  });

  it('answers a change of installations with an outcome that another process of admin stores', async () => {
    register = async (botId) =>
      void (await api.sql(`UPDATE admin.installation SET status = 'registered' WHERE bot_id = $1 AND alias = 'probe'`, [
        botId,
      ]));

    expect((await installedBot()).integration).toMatchObject({ status: 'registered' });
  });

  const statusOf = async (id: string) => (await alice.client.getBot({ id })).bot.integrations[probe]!.status;
  const configure = (id: string, scheduleRegisterCall: 'daily' | 'weekly') =>
    new Client({
      ...{ apiUrl: api.url, token: alice.token, workspaceId: alice.workspaceId, botId: id },
      headers: { 'x-integration-alias': 'probe' },
    }).configureIntegration({ scheduleRegisterCall });

  it.each<[string, (id: string) => Promise<unknown>]>([
    [
      'is connected',
      (id) =>
        api.call(admin.registrations.connect, systemCaller(newId('req')), {
          ...{ botId: id, alias: 'probe', integrationId: probe },
        }),
    ],
    ['configures itself', (id) => configure(id, 'daily')],
  ])('registers an integration again whose registration failed before it %s', async (_what, change) => {
    let attempts = 0;
    register = async (botId) =>
      void (await settle(botId, (attempts += 1) === 1 ? 'Not connected.' : undefined, attempts));
    const { id } = await installedBot();
    expect(await statusOf(id)).toBe('registration_failed');

    await change(id);

    await waitFor(async () => (await statusOf(id)) === 'registered');
    await change(id);
    expect(await statusOf(id)).toBe('registered');
    expect(attempts).toBe(2);
  });

  it('does not register an integration again that configures what it has configured before', async () => {
    register = async (botId) => void (await settle(botId));
    const { id } = await installedBot();
    await configure(id, 'weekly');
    await api.sql(
      `UPDATE admin.installation SET status = 'registration_failed' WHERE bot_id = $1 AND alias = 'probe'`,
      [id],
    );

    await configure(id, 'weekly');

    expect(await statusOf(id)).toBe('registration_failed');
  });

  it('stops waiting for a registration when the time is over', async () => {
    register = async (botId) => void (await settle(botId));
    const { id } = await installedBot();
    await api.sql(
      `UPDATE admin.installation SET status = 'registration_pending' WHERE bot_id = $1 AND alias = 'probe'`,
      [id],
    );

    await expect(api.apps[1]!.get(RegistrationsService, { strict: false }).settled(id, 100)).resolves.toBeUndefined();
  });
});

describe('a change of installations, while no runtime is there', () => {
  beforeAll(async () => {
    api = await startPublicApi(GatewayModule, AdminModule, FakeHubModule.of(hub));
    alice = await api.newAccount();
  });

  afterAll(() => api.stop());

  it('answers a change of installations as pending at once while no runtime is there', async () => {
    fakeClock('performance');

    expect((await installedBot()).integration).toMatchObject({ status: 'registration_pending' });
  });
});
