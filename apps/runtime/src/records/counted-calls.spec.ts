import type { Outbox } from '@parley/events/outbox';
import type { Database } from '@parley/persistence/database';
import { createLogger } from '@parley/logging/logger';
import type { Platform } from '@parley/service/platform';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import type { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import type { CallCountsRepository, CountedCalls } from './call-counts.repository';
import { CallCountsService } from './call-counts.service';

/** Counts, and a database that fails as often as the test says. */
function setUp() {
  const written: CountedCalls[][] = [];
  const database = { failures: 0 };
  const addCalls = (batch: CountedCalls[]) => {
    if (database.failures-- > 0) return Promise.reject(new Error('The database has gone.'));
    written.push(batch);
    return Promise.resolve();
  };
  const counts = new CallCountsService(
    {} as Database,
    { addCalls } as unknown as CallCountsRepository,
    {} as Outbox,
    { wake: () => undefined } as unknown as BackgroundTasks,
    { logger: createLogger('test', 'silent') } as Platform,
  );
  const count = (botId: string) => counts.count({ botId, workspaceId: 'workspace' });
  return { counts, count, written, database };
}

beforeEach(() => {
  fakeClock('Date');
  jest.setSystemTime(new Date('2026-11-30T23:59:59.999Z'));
});
afterEach(realClock);

it('adds up the calls of a bot by month, in UTC', async () => {
  const { counts, count, written } = setUp();
  count('bot');
  count('bot');
  jest.setSystemTime(Date.now() + 1);
  count('bot');

  await counts.write();

  const common = { bot_id: 'bot', workspace_id: 'workspace' };
  expect(written).toEqual([
    [
      { ...common, month: '2026-11', calls: 2 },
      { ...common, month: '2026-12', calls: 1 },
    ],
  ]);
});

it('writes the counts of at most 500 bots together, and all before the process stops', async () => {
  const { counts, count, written } = setUp();
  for (let nth = 0; nth < 1_001; nth += 1) count(`bot ${nth}`);

  await counts.beforeApplicationShutdown();

  expect(written.map((batch) => batch.length)).toEqual([500, 500, 1]);
});

it('keeps the calls of a failed statement, and adds later ones to them', async () => {
  const { counts, count, written, database } = setUp();
  count('bot');
  database.failures = 1;

  await expect(counts.write()).rejects.toThrow('The database has gone.');
  count('bot');
  await counts.write();

  expect(written.flat().map(({ calls }) => calls)).toEqual([2]);
});

it('writes all counts before the process stops, those of a failed statement last', async () => {
  const { counts, count, written, database } = setUp();
  for (let nth = 0; nth < 1_001; nth += 1) count(`bot ${nth}`);
  database.failures = 1;

  await counts.beforeApplicationShutdown();

  expect(written.map((batch) => batch.length)).toEqual([500, 500, 1]);
  expect(new Set(written.flat().map(({ bot_id }) => bot_id)).size).toBe(1_001);
});

it('stops without the counts when the database has gone', async () => {
  const { counts, count, written, database } = setUp();
  count('bot');
  database.failures = Infinity;

  await counts.beforeApplicationShutdown();

  expect(written).toEqual([]);
});
