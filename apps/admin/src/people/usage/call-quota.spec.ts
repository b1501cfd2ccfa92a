import { cacheClock } from '@parley/testing/cache-clock';
import { AdminConfig } from '../../config';
import { CallQuotaService } from './call-quota.service';
import { unlimited } from './quota-amounts';

/** Quota of workspaces that have used so many calls, which are read by `listAmounts`. */
function open(quotaInvocationCalls: number, used: number) {
  const listAmounts = jest.fn(() => Promise.resolve([{ value: used }]));
  const config = Object.assign(new AdminConfig(), { quotaInvocationCalls });
  return { quota: new CallQuotaService(config, { listAmounts } as never), listAmounts };
}

afterEach(() => void jest.restoreAllMocks());

it.each([
  [4, false],
  [5, true],
  [6, true],
])('regards a quota of five calls after %d calls as used up: %s', async (used, isUsedUp) => {
  expect(await open(5, used).quota.isUsedUp('workspace')).toBe(isUsedUp);
});

it('reads the calls of a workspace once a second, and never without a limit', async () => {
  const { pass } = cacheClock();
  const [limited, free] = [open(5, 4), open(unlimited, 4)];
  const ask = (workspaceId: string) => limited.quota.isUsedUp(workspaceId);

  for (const workspaceId of ['a', 'b', 'a']) await ask(workspaceId);
  expect(limited.listAmounts).toHaveBeenCalledTimes(2);
  pass(1_000);
  await ask('a');
  expect(limited.listAmounts).toHaveBeenCalledTimes(2);
  pass(1);
  await ask('a');

  expect(limited.listAmounts).toHaveBeenCalledTimes(3);
  expect(await free.quota.isUsedUp('a')).toBe(false);
  expect(free.listAmounts).not.toHaveBeenCalled();
});
