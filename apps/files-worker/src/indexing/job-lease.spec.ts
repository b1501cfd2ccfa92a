import timers from 'node:timers/promises';
import { createLogger } from '@parley/logging/logger';
import { ServerBusy } from '@parley/openai/server-errors';
import { ModelsAway } from '@parley/service/models.client';
import { LeaseLost } from '@parley/work-queue/queue';
import { JobLease } from './job-lease';

const heartbeatMs = 2_500;
const version = { botId: 'bot', fileId: 'file', contentVersion: 'v1' };

/** Lease, and a database that answers as the test says. */
function setUp() {
  const renewals: unknown[] = [];
  const database = { isLost: false, isAway: false };
  const recordProgress = (_job: unknown, progress: unknown) => {
    renewals.push(progress);
    return database.isAway ? Promise.reject(new Error('The database has gone.')) : Promise.resolve(!database.isLost);
  };
  const isLeaseHeld = () => Promise.resolve(!database.isLost);
  const stopping = new AbortController();
  const platform = { logger: createLogger('test', 'silent') } as never;
  const lease = new JobLease(
    { recordProgress, isLeaseHeld } as never,
    { version } as never,
    platform,
    heartbeatMs,
    stopping.signal,
  );
  return { lease, renewals, database, stopping };
}

let opened: ReturnType<typeof setUp>;

beforeEach(() => {
  jest.useFakeTimers();
  opened = setUp();
});
afterEach(() => {
  opened.lease.stop();
  jest.restoreAllMocks();
  jest.useRealTimers();
});

it('throws LeaseLost at the next step when the lease is lost, so that nothing is written', async () => {
  const { lease, database } = opened;
  await lease.advance('parsed');
  database.isLost = true;

  await expect(lease.advance('written')).rejects.toEqual(expect.any(LeaseLost));
  expect(lease.signal.reason).toEqual(expect.any(LeaseLost));
});

it('aborts the work at the heartbeat that finds the lease lost, and not for one that was missed', async () => {
  const { lease, renewals, database } = opened;
  await lease.advance('written');
  database.isAway = true;
  await jest.advanceTimersByTimeAsync(heartbeatMs);
  expect(lease.signal.aborted).toBe(false);
  [database.isAway, database.isLost] = [false, true];

  await jest.advanceTimersByTimeAsync(heartbeatMs);

  expect(lease.signal.reason).toEqual(expect.any(LeaseLost));
  expect(renewals).toEqual(Array(3).fill({ stage: 'written', part: 0 }));
});

it('records progress once a heartbeat, however many steps a stage has', async () => {
  const { lease, renewals } = opened;
  lease.noteIndexing(0);
  await lease.advance('parsed');
  for (let step = 1; step <= 100; step++) {
    await lease.advance('embedding');
    await jest.advanceTimersByTimeAsync(heartbeatMs / 100);
    lease.noteIndexing(step / 200, { passagesWritten: step });
  }

  expect(renewals).toEqual([
    { stage: 'parsed', part: 0 },
    { stage: 'embedding', part: 0 },
    { stage: 'embedding', passagesWritten: 99, part: 0.495, secondsLeft: 3 },
  ]);
});

it('throws LeaseLost at a step without a change of stage when the lease is lost', async () => {
  const { lease, database } = opened;
  await lease.advance('embedding');
  database.isLost = true;

  await expect(lease.advance('embedding')).rejects.toEqual(expect.any(LeaseLost));
});

it('reports how far a document is read with the next heartbeat', async () => {
  const { lease, renewals } = opened;
  lease.noteReading(0);
  await jest.advanceTimersByTimeAsync(1_000);
  lease.noteReading(0.5);

  await jest.advanceTimersByTimeAsync(heartbeatMs - 1_000);

  expect(renewals).toEqual([{ stage: 'taken', part: 0.15, secondsLeft: 3 }]);
});

it('aborts the work when the process stops, and records no further step', async () => {
  const { lease, renewals, stopping } = opened;
  stopping.abort(new Error('stopping'));

  await expect(lease.advance('written')).rejects.toThrow('stopping');
  expect(renewals).toEqual([]);
});

it('repeats a request without limit while the server is busy, after the pause that it asks for', async () => {
  jest.useRealTimers();
  const { lease } = opened;
  let asked = 0;

  const answer = lease.whenFree(() => {
    asked += 1;
    return asked < 20 ? Promise.reject(new ServerBusy('slow down', 0)) : Promise.resolve('answer');
  });

  await expect(answer).resolves.toBe('answer');
});

it('asks a busy server again after a minute, however long it asks to wait', async () => {
  const pauses: (number | undefined)[] = [];
  jest.spyOn(timers, 'setTimeout').mockImplementation(async (ms) => void pauses.push(ms));
  const { lease } = opened;
  const busyFor = [59_999, 60_000, 60_001, 86_400_000];

  await lease.whenFree(async () => {
    const retryAfterMs = busyFor[pauses.length];
    if (retryAfterMs !== undefined) throw new ServerBusy('slow down', retryAfterMs);
  });

  expect(pauses).toEqual([59_999, 60_000, 60_000, 60_000]);
});

it('repeats a request for 30 s while the models service is away, and anew after an answer that it is busy', async () => {
  const pauses: (number | undefined)[] = [];
  jest.spyOn(timers, 'setTimeout').mockImplementation(async (ms) => {
    pauses.push(ms);
    jest.advanceTimersByTime(ms!);
  });
  const { lease } = opened;
  const away = new ModelsAway('away');
  const askWhile = (busyAt: number) =>
    lease.whenFree(() => Promise.reject(pauses.length === busyAt ? new ServerBusy('slow down', 0) : away));

  await expect(askWhile(-1)).rejects.toBe(away);
  expect(pauses).toEqual(Array(15).fill(2_000));
  pauses.length = 0;
  await expect(askWhile(10)).rejects.toBe(away);
  expect(pauses).toEqual([...Array<number>(10).fill(2_000), 0, ...Array<number>(15).fill(2_000)]);
});

it('does not repeat a request that failed otherwise, and none of work that was aborted', async () => {
  const { lease, stopping } = opened;
  await expect(lease.whenFree(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  stopping.abort(new Error('stopping'));

  await expect(lease.whenFree(() => Promise.reject(new ServerBusy('slow down', 60_000)))).rejects.toThrow('stopping');
});
