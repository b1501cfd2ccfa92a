import { createLogger } from '@parley/logging/logger';
import { Metrics } from '@parley/service/metrics';
import type { Platform } from '@parley/service/platform';
import { metricValue } from '@parley/testing/metric-value';
import type { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { IssueRecordsService } from './issue-records.service';
import type { IssuesRepository, NewIssue } from './issues.repository';

/** Records, and a database that fails as often as the test says. */
function setUp() {
  const metrics = new Metrics();
  const written: NewIssue[][] = [];
  const database = { failures: 0 };
  const issues = {
    addToIssues: (batch: NewIssue[]) => {
      if (database.failures-- > 0) return Promise.reject(new Error('The database has gone.'));
      written.push(batch);
      return Promise.resolve(new Set<string>());
    },
  };
  const wakes: number[] = [];
  const tasks = { wake: (_name: string, ms: number) => void wakes.push(ms) };
  const records = new IssueRecordsService(
    issues as unknown as IssuesRepository,
    tasks as unknown as BackgroundTasks,
    { metrics, logger: createLogger('test', 'silent') } as Platform,
  );
  const record = (botId: string, code: string, raw = code) =>
    records.record({ botId, code, title: code, description: code, category: 'other', data: { raw: { raw } } });
  const dropped = async () => metricValue(await metrics.registry.metrics(), 'parley_issue_events_dropped_total');
  return { records, record, written, dropped, database, wakes };
}

it('counts failures of one kind in one issue with the latest 20 events, newest first', async () => {
  const { records, record, written, wakes } = setUp();
  for (let nth = 0; nth < 30; nth += 1) record('bot', 'broken', `event ${nth}`);

  await records.write();

  expect(written).toEqual([[expect.objectContaining({ bot_id: 'bot', events_count: 30 })]]);
  const { events } = written[0]![0]!;
  expect(events.map(({ data }) => data['raw']!.raw)).toEqual(
    Array.from({ length: 20 }, (_entry, index) => `event ${29 - index}`),
  );
  expect(new Set(wakes)).toEqual(new Set([200]));
});

it('writes at most 50 issues together, and the rest next', async () => {
  const { records, record, written } = setUp();
  for (let nth = 0; nth < 51; nth += 1) record(`bot ${nth}`, 'broken');

  expect([await records.write(), await records.write(), await records.write()]).toEqual([true, false, false]);

  expect(written.map((batch) => batch.length)).toEqual([50, 1]);
});

it('keeps 50 waiting issues of a bot and 500 in all, and counts the events that it drops', async () => {
  const { records, record, dropped } = setUp();
  for (let nth = 0; nth < 51; nth += 1) record('noisy', `kind ${nth}`);
  for (let nth = 0; nth < 451; nth += 1) record(`bot ${nth}`, 'broken');
  record('noisy', 'kind 0');

  expect(await dropped()).toBe(2);

  await records.write();
  record('noisy', 'kind 50');
  expect(await dropped()).toBe(2);
});

it('drops and counts the events of a failed batch, and writes the next one', async () => {
  const { records, record, written, dropped, database } = setUp();
  for (let nth = 0; nth < 51; nth += 1) record(`bot ${nth}`, 'broken');
  record('bot 0', 'broken');
  database.failures = 1;

  await expect(records.write()).rejects.toThrow('The database has gone.');
  await records.write();

  expect(await dropped()).toBe(51);
  expect(written.flat().map(({ bot_id }) => bot_id)).toEqual(['bot 50']);
});

it('writes all that waits before the process stops', async () => {
  const { records, record, written } = setUp();
  for (let nth = 0; nth < 120; nth += 1) record(`bot ${nth}`, 'broken');

  await records.beforeApplicationShutdown();

  expect(written.map((batch) => batch.length)).toEqual([50, 50, 20]);
});

it('writes the other batches before the process stops when one fails', async () => {
  const { records, record, written, dropped, database } = setUp();
  for (let nth = 0; nth < 120; nth += 1) record(`bot ${nth}`, 'broken');
  database.failures = 1;

  await records.beforeApplicationShutdown();

  expect(written.map((batch) => batch.length)).toEqual([50, 20]);
  expect(await dropped()).toBe(50);
});

it('stops after three failed batches, so that it does not wait for a lost database', async () => {
  const { records, record, written, dropped, database } = setUp();
  for (let nth = 0; nth < 200; nth += 1) record(`bot ${nth}`, 'broken');
  database.failures = 3;

  await records.beforeApplicationShutdown();

  expect([written, await dropped()]).toEqual([[], 150]);
});
