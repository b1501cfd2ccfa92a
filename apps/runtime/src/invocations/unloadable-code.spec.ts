import { cacheClock } from '@parley/testing/cache-clock';
import { CodeNotStarted, NotLoadable } from './invocation';
import { UnloadableCodeLimiter } from './unloadable-code.limiter';

const bot = { ownerId: 'bot', workspaceId: 'workspace' };

afterEach(() => void jest.restoreAllMocks());

/** Limiter that knows code of this bot as unloadable. */
async function afterFailure() {
  const limiter = new UnloadableCodeLimiter();
  const failed = limiter.run(bot, '1', () => Promise.reject(new NotLoadable('It hangs.')));
  await expect(failed).rejects.toThrow('It hangs.');
  return limiter;
}

/** How many of three calls at once begin. */
async function begun(limiter: UnloadableCodeLimiter, callee = bot, revision = '1'): Promise<number> {
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const calls = [1, 2, 3].map(() => limiter.run(callee, revision, () => ended));
  const outcomes = Promise.allSettled(calls);
  end();
  const refused = (await outcomes).flatMap((outcome) =>
    outcome.status === 'rejected' ? [outcome.reason as Error] : [],
  );
  for (const reason of refused) expect(reason).toEqual(expect.any(CodeNotStarted));
  return 3 - refused.length;
}

it('calls code that could not be loaded at most twice at once for a workspace', async () => {
  expect(await begun(await afterFailure())).toBe(2);
});

it('calls other code, newer code and code that failed otherwise without a limit', async () => {
  const limiter = await afterFailure();
  const other = { ownerId: 'other', workspaceId: 'workspace' };
  await limiter.run(other, '1', () => Promise.reject(new Error('broken'))).catch(() => undefined);

  expect([await begun(limiter, other), await begun(limiter, bot, '2')]).toEqual([3, 3]);
});

it('calls code without a limit after it has answered', async () => {
  const limiter = await afterFailure();
  await limiter.run(bot, '1', () => Promise.resolve());

  expect(await begun(limiter)).toBe(3);
});

it('forgets after ten minutes that code could not be loaded', async () => {
  const { pass } = cacheClock();
  const limiter = await afterFailure();
  pass(10 * 60_000 + 1);

  expect(await begun(limiter)).toBe(3);
});
