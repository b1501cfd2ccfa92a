import { PassThrough } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { TaskFailed, type TaskFailure } from '@parley/child-processes/child-tasks';
import { chat } from '@parley/contracts/chat/chat';
import { Metrics } from '@parley/service/metrics';
import type { Platform } from '@parley/service/platform';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { BodiesService } from './bodies/bodies.service';
import { BodyMemoryLimiter } from './bodies/body-memory.limiter';
import { LargeBodiesService } from './bodies/large-bodies.service';
import { LargeBody } from './bodies/large-body';
import { GatewayConfig } from './config';
import { RateLimiter } from './rate-limits/rate.limiter';

const noCut = (reason: Error) => {
  throw reason;
};

it('holds 256 MB of request bodies at once, half of them of one workspace, and a twentieth without a credential', () => {
  const open = (tenant: string, isAuthenticated = true) => memory.open({ tenant, isAuthenticated }, noCut);
  const memory = new BodyMemoryLimiter(10);
  const [first, unauthenticated] = [open('first'), open('127.0.0.1', false)];

  first.take(128_000_000);
  expect(() => first.take(1)).toThrow('at most 256000000 bytes at once');
  first.end();
  unauthenticated.take(12_800_000);
  expect(() => unauthenticated.take(1)).toThrow('at most 12800000 bytes at once');
});

it('accepts 1,000 requests of a sender in 5 s', async () => {
  fakeClock('Date');
  const limiter = new RateLimiter(new GatewayConfig(), { metrics: new Metrics() } as Platform);
  const ask = () => limiter.count({ address: '10.0.0.1', actor: 'bot' }, { header: () => undefined });

  await Promise.all(Array.from({ length: 1_000 }, ask));

  await expect(ask()).rejects.toMatchObject({ type: 'RateLimited', retryAfterSeconds: 5 });
});

afterEach(realClock);

/** Body of an operation without code. */
async function read(text: string, bodies = new BodiesService(new BodyMemoryLimiter(10))): Promise<unknown> {
  const stream = new PassThrough();
  const raw = Object.assign(stream, { headers: { 'content-length': String(text.length) } });
  stream.end(text);
  const sender = { tenant: 'workspace', isAuthenticated: true };
  return bodies.read({ raw: raw as unknown as IncomingMessage, operation: chat.messages.create, sender });
}

it.each<[what: string, within: string, beyond: string]>([
  ['1 MB', JSON.stringify('x'.repeat(999_998)), JSON.stringify('x'.repeat(999_999))],
  ['10,000 values', `[${'1,'.repeat(9_998)}1]`, `[${'1,'.repeat(9_999)}1]`],
])('reads a body of more than %s in a child process', async (_what, within, beyond) => {
  expect(await read(within)).not.toBeInstanceOf(LargeBody);
  expect(await read(beyond)).toBeInstanceOf(LargeBody);
});

it('gives the reading of a body 10 s of processor time, 384 MB, and 30 s by the clock', () => {
  expect(new LargeBodiesService()['tasks']['options']).toMatchObject({
    processorMs: 10_000,
    heapMb: 384,
    deadlineMs: 30_000,
  });
});

it.each<[TaskFailure, object]>([
  ['memory', { code: 413, message: expect.stringContaining('more than 384 MB of memory') as string }],
  ['processor time', { code: 413, message: expect.stringContaining('more than 10 s of processor time') as string }],
  ['busy', { code: 503 }],
  ['outage', { code: 503 }],
])('answers a body whose reading ended by %s', async (failure, answer) => {
  const large = new LargeBodiesService();
  jest.spyOn(large['tasks'], 'run').mockRejectedValue(new TaskFailed(failure, 'no'));

  const reading = large.read(chat.messages.create, 'workspace', {
    body: new LargeBody(1),
    query: {},
    path: {},
    headers: {},
  });

  await expect(reading).rejects.toMatchObject(answer);
});
