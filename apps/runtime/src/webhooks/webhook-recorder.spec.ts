import { createLogger } from '@parley/logging/logger';
import { SecretBox } from '@parley/secrets/secret-box';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { Metrics } from '@parley/service/metrics';
import type { Platform } from '@parley/service/platform';
import { cacheClock } from '@parley/testing/cache-clock';
import { metricValue } from '@parley/testing/metric-value';
import type { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { newRecordingKey } from './recording-key';
import { WebhookRecorderService } from './webhook-recorder.service';
import type { NewRequest, WebhookRecordingsRepository } from './webhook-recordings.repository';

const box = new SecretBox(new SecretKeys({ secretKey: 's'.repeat(32) }));
const megabyte = 1_000_000;

/** Recorder of these webhooks, whose recordings have the same ids. */
function setUp(...recorded: string[]) {
  const metrics = new Metrics();
  const stored: { recording: string; requests: NewRequest[] }[] = [];
  const failing = new Set<string>();
  const lookups: string[][] = [];
  const recordings = {
    findOfWebhooks: (ids: string[]) => {
      lookups.push(ids);
      if (failing.has('lookup')) return Promise.reject(new Error('The database has gone.'));
      const found = recorded.filter((id) => ids.includes(id));
      return Promise.resolve(found.map((id) => ({ id, webhook_id: id, bot_id: 'bot', key: newRecordingKey(box) })));
    },
    insertRequests: (recording: string, requests: NewRequest[]) => {
      if (failing.has(recording)) return Promise.reject(new Error(`${recording} failed`));
      stored.push({ recording, requests });
      return Promise.resolve();
    },
  };
  const recorder = new WebhookRecorderService(
    recordings as unknown as WebhookRecordingsRepository,
    box,
    { wake: () => undefined } as unknown as BackgroundTasks,
    { metrics, logger: createLogger('test', 'silent') } as Platform,
  );
  const record = (webhookId: string, id = 'request', bodyBytes = 0) => {
    const request = { method: 'POST', path: '/', query: '', headers: {}, body: 'x'.repeat(bodyBytes) };
    recorder.record({ id, webhookId, receivedAt: new Date(0), request, status: 200 });
  };
  const dropped = async () => metricValue(await metrics.registry.metrics(), 'parley_webhook_recordings_dropped_total');
  const idsOf = (recording: string) =>
    stored.filter((each) => each.recording === recording).flatMap(({ requests }) => requests.map(({ id }) => id));
  return { recorder, record, stored, failing, lookups, dropped, idsOf };
}

afterEach(() => void jest.restoreAllMocks());

it('stores the latest 20 requests of a recording, in their order', async () => {
  const { recorder, record, idsOf } = setUp('a');
  for (let nth = 0; nth < 25; nth += 1) record('a', `${nth}`);

  await recorder.write();

  expect(idsOf('a')).toEqual(Array.from({ length: 20 }, (_entry, index) => `${index + 5}`));
});

it('stores the requests of the other recordings when one fails, and counts the lost ones', async () => {
  const { recorder, record, failing, dropped, idsOf } = setUp('a', 'bad', 'c');
  ['a', 'bad', 'bad', 'c'].forEach((webhook, index) => record(webhook, `${index}`));
  failing.add('bad');

  await expect(recorder.write()).rejects.toThrow('bad failed');

  expect([idsOf('a'), idsOf('c'), await dropped()]).toEqual([['0'], ['3'], 2]);
});

it('drops and counts what waits when the database has gone, and stores the next requests', async () => {
  const { recorder, record, failing, dropped, idsOf } = setUp('a');
  failing.add('lookup');
  record('a', 'lost');

  await expect(recorder.write()).rejects.toThrow('The database has gone.');
  failing.clear();
  record('a', 'next');
  await recorder.write();

  expect([idsOf('a'), await dropped()]).toEqual([['next'], 1]);
});

it('drops and counts the requests beyond 200 that wait', async () => {
  const { recorder, record, dropped } = setUp('a', 'b');
  for (let nth = 0; nth < 200; nth += 1) record('b', `${nth}`);
  record('a', 'beyond');

  await recorder.write();

  expect(await dropped()).toBe(1);
});

it('drops and counts the requests beyond 8 MB that wait, and stores a body above 256 kB without it', async () => {
  const { recorder, record, dropped, idsOf, stored } = setUp('a', 'b');
  for (let nth = 0; nth < 32; nth += 1) record('b', `${nth}`, megabyte / 4);
  record('b', 'beyond', 1);
  record('a', 'large', 256 * 1024 + 1);

  await recorder.write();

  expect([idsOf('a'), await dropped()]).toEqual([['large'], 1]);
  const large = stored.find(({ recording }) => recording === 'a')!.requests[0];
  expect(large).toMatchObject({ body: null, body_bytes: 256 * 1024 + 1 });
});

it('looks a webhook that is not recorded up again after a second', async () => {
  const { pass } = cacheClock();
  const { recorder, record, lookups } = setUp();
  const recordAgain = async () => {
    record('a');
    await recorder.write();
    return lookups.length;
  };

  const counts = [await recordAgain()];
  pass(1_000);
  counts.push(await recordAgain());
  pass(1);
  counts.push(await recordAgain());

  expect(counts).toEqual([1, 1, 2]);
});

it('stores what waits before the process stops', async () => {
  const { recorder, record, idsOf } = setUp('a');
  record('a', 'last');

  await recorder.beforeApplicationShutdown();

  expect(idsOf('a')).toEqual(['last']);
});

it('stops without what waits when the database has gone, and counts it as dropped', async () => {
  const { recorder, record, failing, dropped } = setUp('a');
  failing.add('lookup');
  record('a', 'lost');

  await recorder.beforeApplicationShutdown();

  expect(await dropped()).toBe(1);
});
