import type { Transaction } from '@parley/persistence/database';
import { AdminConfig } from '../../config';
import { QuotasService } from './quotas.service';

const tx = {} as Transaction;
const quota = 1_000;

/** Quota for storage of a workspace that uses so many bytes, with those that are reserved now and were before. */
function reserve(used: number, bytes: number, before: number): Promise<void> {
  const usage = {
    reserveRecurringBytes: () => Promise.resolve(before),
    listAmounts: () => Promise.resolve([{ value: used }]),
  };
  const quotas = new QuotasService(
    Object.assign(new AdminConfig(), { quotaStorageBytes: quota }),
    {} as never,
    usage as never,
    {} as never,
    {} as never,
    {} as never,
  );
  return quotas.reserveForRecurringEvents(tx, { botId: 'bot', workspaceId: 'workspace', bytes });
}

it('reserves storage up to the quota', async () => {
  await expect(reserve(quota, 100, 0)).resolves.toBeUndefined();
});

it('refuses storage above the quota, and says how much is used', async () => {
  await expect(reserve(quota + 1, 100, 0)).rejects.toMatchObject({
    type: 'QuotaExceeded',
    message: expect.stringContaining('may store 1000 bytes (storage_count). It uses 901') as string,
  });
});

it('allows less storage than before above the quota', async () => {
  await expect(reserve(2 * quota, 100, 100)).resolves.toBeUndefined();
});
