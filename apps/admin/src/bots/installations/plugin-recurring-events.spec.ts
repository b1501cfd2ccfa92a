import type { Client } from '@botpress/client';
import { admin } from '@parley/contracts/admin/admin';
import { systemCaller } from '@parley/contracts/caller';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { AdminConfig } from '../../config';
import { FakeHub, FakeHubModule } from '../../test/fake-hub.module';

type Plugins = NonNullable<Parameters<Client['updateBot']>[0]['plugins']>;

const hub = new FakeHub();
const id = hub.addPlugin('plugver_sync', { name: 'sync' });
const quota = 1_000_000;

let api: PublicApi;
let alice: Account;

beforeAll(async () => {
  api = await startPublicApi(
    GatewayModule,
    configured(AdminModule, AdminConfig, { quotaStorageBytes: quota, eventRetentionDays: 10 }),
    FakeHubModule.of(hub),
  );
});

afterAll(() => api?.stop());

beforeEach(async () => {
  alice = await api.newAccount();
});

const every = (cron: string, bytes = 10) => ({
  type: 'ticked',
  payload: { x: 'y'.repeat(bytes - 8) },
  schedule: { cron },
});

async function newBot() {
  const { bot } = await alice.client.createBot({ recurringEvents: { own: every('0 * * * *') } });
  // The client does not declare `definition`, which the CLI sends.
  const update = (plugins: object) => alice.client.updateBot({ id: bot.id, plugins: plugins as Plugins });
  const scheduled = async () => {
    const { recurringEvents } = await api.call(admin.botDefinitions.get, systemCaller('test'), { botId: bot.id });
    return recurringEvents;
  };
  const revisions = async () => {
    const rows = await api.sql<{ revision: number }>(
      `SELECT data -> 'revision' AS revision FROM admin.outbox
       WHERE subject = 'admin.recurringEventsChanged' AND data ->> 'botId' = $1 ORDER BY id`,
      [bot.id],
    );
    return rows.map(({ revision }) => revision);
  };
  return { id: bot.id, update, scheduled, revisions };
}

describe('recurring events of a plugin', () => {
  const definition = { name: 'sync', recurringEvents: { tick: every('*/5 * * * *') }, tables: {} };

  it('schedules recurring events of a plugin for the bot, under names and types with the alias', async () => {
    const { update, scheduled, revisions } = await newBot();

    const { bot } = await update({ files: { id, definition } });

    expect(await scheduled()).toEqual({
      own: every('0 * * * *'),
      'files#tick': { ...every('*/5 * * * *'), type: 'files#ticked' },
    });
    expect(Object.keys(bot.recurringEvents)).toEqual(['own']);
    expect(await revisions()).toEqual([1, 2]);
  });

  it('keeps recurring events when the plugin changes without them, and announces only changes of them', async () => {
    const { update, scheduled, revisions } = await newBot();
    await update({ files: { id, definition } });

    await update({ files: { id, configuration: {} } });
    await update({ files: { id, definition } });
    expect(Object.keys(await scheduled())).toEqual(['own', 'files#tick']);
    expect(await revisions()).toEqual([1, 2]);

    await update({ files: { id, definition: { recurringEvents: { tock: every('0 0 * * *') } } } });
    expect(Object.keys(await scheduled())).toEqual(['own', 'files#tock']);
    expect(await revisions()).toEqual([1, 2, 3]);
  });

  it.each([
    ['disabled', { id, enabled: false }],
    ['uninstalled', null],
    ['deployed without them', { id, definition: {} }],
  ])('stops scheduling recurring events of a plugin that is %s', async (_case, change) => {
    const { update, scheduled, revisions } = await newBot();
    await update({ files: { id, definition } });

    await update({ files: change });

    expect(Object.keys(await scheduled())).toEqual(['own']);
    expect(await revisions()).toEqual([1, 2, 3]);
  });

  it('rejects recurring events of a plugin that are too frequent, or that are no recurring events', async () => {
    const { update, scheduled } = await newBot();

    await expect(
      update({ files: { id, definition: { recurringEvents: { tick: every('* * * * * *') } } } }),
    ).rejects.toMatchObject({
      type: 'InvalidPayload',
      message:
        'plugins.files.definition.recurringEvents.tick.schedule.cron must leave at least 60 seconds between two events, got 1.',
    });
    await expect(
      update({ files: { id, definition: { recurringEvents: { tick: { type: 'ticked' } } } } }),
    ).rejects.toMatchObject({ type: 'InvalidPayload' });
    expect(Object.keys(await scheduled())).toEqual(['own']);
  });

  it('counts recurring events of a plugin towards the number of those of the bot', async () => {
    const { update, scheduled } = await newBot();
    const yearly = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`tick-${n}`, every('0 0 1 1 *')]));

    await update({ files: { id, definition: { recurringEvents: yearly(49) } } });
    await expect(update({ files: { id, definition: { recurringEvents: yearly(50) } } })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringMatching(/^recurringEvents, with those of the plugins, must have at most 50 entries/),
    });

    expect(Object.keys(await scheduled())).toHaveLength(50);
  });

  it('counts recurring events of a plugin towards the storage quota while the plugin is enabled', async () => {
    const bot = await newBot();
    const used = async () => (await alice.client.getUsage({ id: bot.id, type: 'storage_count' })).usage.value;
    const before = await used();
    const daily = (bytes: number) => ({ recurringEvents: { tick: every('0 0 * * *', bytes) } });

    await bot.update({ files: { id, definition: daily(1_000) } });
    expect((await used()) - before).toBe(10_000);
    await expect(bot.update({ files: { id, definition: daily(110_000) } })).rejects.toMatchObject({
      type: 'QuotaExceeded',
    });
    await bot.update({ files: { id, enabled: false } });

    expect(await used()).toBe(before);
  });
});
