import type { Client } from '@botpress/client';
import { usageChanged } from '@parley/contracts/admin/usage';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { AdminConfig } from '../../config';

type RecurringEvents = NonNullable<Parameters<Client['createBot']>[0]>['recurringEvents'];

/** Stored events of a minutely recurring event under a retention of ten days. */
const minutely = 10 * 24 * 60;
const quota = 1_000_000;

let api: PublicApi;
let alice: Account;

beforeAll(async () => {
  api = await startPublicApi(
    GatewayModule,
    configured(AdminModule, AdminConfig, { quotaStorageBytes: quota, eventRetentionDays: 10 }),
  );
});

afterAll(() => api?.stop());

beforeEach(async () => {
  alice = await api.newAccount();
});

function every(cron: string, bytes = 10) {
  return { type: 'ticked', payload: { x: 'y'.repeat(bytes - 8) }, schedule: { cron } };
}

async function newBot(recurringEvents: RecurringEvents = {}) {
  return (await alice.client.createBot({ recurringEvents })).bot.id;
}

async function used(id: string) {
  return (await alice.client.getUsage({ id, type: 'storage_count' })).usage.value;
}

describe('recurring events', () => {
  it.each([
    ['* * * * * *', 1],
    ['0,30 * * * * *', 30],
    ['30,29 0 0 1 1 *', 1],
  ])('rejects recurring events with the schedule "%s", which is too frequent', async (cron, seconds) => {
    const refusal = {
      type: 'InvalidPayload',
      message: `recurringEvents.tick.schedule.cron must leave at least 60 seconds between two events, got ${seconds}.`,
    };
    const id = await newBot();

    await expect(newBot({ tick: every(cron) })).rejects.toMatchObject(refusal);
    await expect(alice.client.updateBot({ id, recurringEvents: { tick: every(cron) } })).rejects.toMatchObject(refusal);

    expect((await alice.client.getBot({ id })).bot.recurringEvents).toEqual({});
  });

  it.each(['* * * * *', '30 * * * * *', '0 0 1 1 *', '0 0 30 2 *'])(
    'accepts recurring events with the schedule "%s"',
    async (cron) => {
      const id = await newBot({ tick: every(cron) });

      expect((await alice.client.getBot({ id })).bot.recurringEvents).toMatchObject({ tick: { schedule: { cron } } });
    },
  );
});

describe('the payloads of recurring events', () => {
  it('counts payloads of recurring events towards the storage quota for the whole retention time', async () => {
    const id = await newBot({ tick: every('* * * * *', 10), tock: every('0 * * * *', 100) });
    expect(await used(id)).toBe(minutely * 10 + 10 * 24 * 100);
    expect(await used(alice.workspaceId)).toBe(minutely * 10 + 10 * 24 * 100);

    await alice.client.updateBot({ id, recurringEvents: { tick: every('* * * * *', 20), tock: null } });
    expect(await used(id)).toBe(minutely * 20);

    await alice.client.updateBot({ id, name: 'other' });
    expect(await used(id)).toBe(minutely * 20);

    await alice.client.deleteBot({ id });
    await waitFor(
      () => used(alice.workspaceId),
      (value) => value === 0,
    );
  });

  it('rejects payloads of recurring events above the storage quota, with the rest of the request', async () => {
    const [big] = [await newBot({ tick: every('* * * * *', 60) }), await newBot()];
    const small = await newBot();
    const refusal = {
      type: 'QuotaExceeded',
      message: `Quota exceeded: the workspace may store ${quota} bytes (storage_count). It uses ${minutely * 60}, and the recurring events of this bot would take ${minutely * 30} within 10 days.`,
    };

    await expect(
      alice.client.updateBot({ id: small, name: 'new', recurringEvents: { tick: every('* * * * *', 30) } }),
    ).rejects.toMatchObject(refusal);
    await expect(newBot({ tick: every('* * * * *', 30) })).rejects.toMatchObject(refusal);

    expect((await alice.client.getBot({ id: small })).bot).toMatchObject({ name: expect.not.stringMatching('new') });
    expect(await used(alice.workspaceId)).toBe(minutely * 60);
    // Changes that do not increase the usage pass even above the quota.
    await alice.client.updateBot({ id: big, recurringEvents: { tick: every('0 * * * *', 60) } });
    await alice.client.updateBot({ id: small, recurringEvents: { tick: every('* * * * *', 30) } });
    expect(await used(alice.workspaceId)).toBe(10 * 24 * 60 + minutely * 30);
  });

  it('keeps payloads of recurring events within the quota under concurrent changes', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => newBot()));

    const results = await Promise.allSettled(
      ids.map((id) => alice.client.updateBot({ id, recurringEvents: { tick: every('* * * * *', 30) } })),
    );

    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(await used(alice.workspaceId)).toBe(2 * minutely * 30);
  });

  it('counts payloads of recurring events in addition to files', async () => {
    const id = await newBot({ tick: every('* * * * *', 10) });
    const data = { workspaceId: alice.workspaceId, botId: id, type: 'storage_count' as const, value: 500_000 };

    await api.publish(usageChanged, { ...data, at: new Date().toISOString() });

    await waitFor(
      () => used(id),
      (value) => value === 500_000 + minutely * 10,
    );
    await expect(newBot({ tick: every('* * * * *', 30) })).rejects.toMatchObject({ type: 'QuotaExceeded' });
    await alice.client.updateBot({ id, recurringEvents: { tick: null } });
    expect(await used(id)).toBe(500_000);
  });

  it('moves the counted payloads of recurring events with a transferred bot', async () => {
    const id = await newBot({ tick: every('* * * * *', 10) });
    const { id: target } = await alice.client.createWorkspace({ name: 'target' });

    await alice.client.transferBot({ id, targetWorkspaceId: target });

    expect(await used(alice.workspaceId)).toBe(0);
    expect(await used(target)).toBe(minutely * 10);
  });
});
