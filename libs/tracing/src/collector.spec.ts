import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger } from '@parley/logging/logger';
import { waitFor } from '@parley/testing/wait-for';
import { type Sampling, traceToCollector } from './collector';
import { continueTrace, currentTraceparent, inSpan, isTracing } from './tracing';

const flushMs = 5_000;
const everything: Sampling = { tracesSampler: 'parentbased_always_on', tracesRatio: 1 };
const work = { name: 'work', kind: 'internal' as const, attributes: {} };

const sampledParent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const unsampledParent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';

async function startCollector(): Promise<{ server: Server; bodies: string[]; answer: { status: number } }> {
  const bodies: string[] = [];
  const answer = { status: 200 };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      bodies.push(Buffer.concat(parts).toString());
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, bodies, answer };
}

const logger = createLogger('test', 'silent');
const told = { warn: jest.spyOn(logger, 'warn'), info: jest.spyOn(logger, 'info') };

let collector: Awaited<ReturnType<typeof startCollector>>;

beforeEach(async () => {
  collector = await startCollector();
  const { port } = collector.server.address() as AddressInfo;
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = `http://127.0.0.1:${port}`;
  process.env['OTEL_BSP_SCHEDULE_DELAY'] = '20';
  // Failed exports are retried no longer than the tests last.
  process.env['OTEL_EXPORTER_OTLP_TIMEOUT'] = '2000';
});

afterEach(async () => {
  delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  delete process.env['OTEL_BSP_SCHEDULE_DELAY'];
  delete process.env['OTEL_SERVICE_NAME'];
  delete process.env['OTEL_EXPORTER_OTLP_TIMEOUT'];
  collector.server.closeAllConnections();
  collector.server.close();
  jest.clearAllMocks();
});

it('sends the spans under the name of the process when it stops', async () => {
  process.env['OTEL_BSP_SCHEDULE_DELAY'] = '60000';
  const stop = traceToCollector('parley-test', everything, logger);

  await continueTrace(undefined, work, () => Promise.resolve());
  await stop(flushMs);

  expect(collector.bodies.join()).toContain('"name":"work"');
  expect(collector.bodies.join()).toContain('parley-test');
});

it('sends the spans under the name of OTEL_SERVICE_NAME when it is set', async () => {
  process.env['OTEL_SERVICE_NAME'] = 'parley-staging';
  const stop = traceToCollector('parley-test', everything, logger);

  await continueTrace(undefined, work, () => Promise.resolve());
  await stop(flushMs);

  expect(collector.bodies.join()).toContain('parley-staging');
  expect(collector.bodies.join()).not.toContain('parley-test');
});

it.each<{ sampling: Sampling; parent: string | undefined; isRecorded: boolean }>([
  { sampling: { tracesSampler: 'always_off', tracesRatio: 1 }, parent: sampledParent, isRecorded: false },
  { sampling: { tracesSampler: 'always_on', tracesRatio: 0 }, parent: unsampledParent, isRecorded: true },
  { sampling: { tracesSampler: 'traceidratio', tracesRatio: 0 }, parent: sampledParent, isRecorded: false },
  { sampling: { tracesSampler: 'traceidratio', tracesRatio: 1 }, parent: unsampledParent, isRecorded: true },
  { sampling: { tracesSampler: 'parentbased_always_on', tracesRatio: 1 }, parent: undefined, isRecorded: true },
  { sampling: { tracesSampler: 'parentbased_always_on', tracesRatio: 1 }, parent: unsampledParent, isRecorded: false },
  { sampling: { tracesSampler: 'parentbased_always_off', tracesRatio: 1 }, parent: undefined, isRecorded: false },
  { sampling: { tracesSampler: 'parentbased_always_off', tracesRatio: 1 }, parent: sampledParent, isRecorded: true },
  { sampling: { tracesSampler: 'parentbased_traceidratio', tracesRatio: 0 }, parent: undefined, isRecorded: false },
  { sampling: { tracesSampler: 'parentbased_traceidratio', tracesRatio: 0 }, parent: sampledParent, isRecorded: true },
])('applies the sampler: $sampling after $parent, recorded: $isRecorded', async ({ sampling, parent, isRecorded }) => {
  const stop = traceToCollector('parley-test', sampling, logger);

  await continueTrace(parent, work, () => Promise.resolve());
  await stop(flushMs);

  expect(collector.bodies.join().includes('"name":"work"')).toBe(isRecorded);
});

it('creates no spans after the collector is stopped', async () => {
  const stop = traceToCollector('parley-test', everything, logger);
  await stop(flushMs);

  const traceparent = await continueTrace(undefined, work, () => Promise.resolve(currentTraceparent()));

  expect(traceparent).toBeUndefined();
  expect(isTracing()).toBe(false);
});

it('logs once that spans are lost and once that exports work again, and fails no work', async () => {
  const stop = traceToCollector('parley-test', everything, logger);
  const traced = () => continueTrace(undefined, work, () => inSpan(work, () => Promise.resolve('done')));
  collector.answer.status = 400;

  for (const refusals of [1, 2, 3]) {
    expect(await traced()).toBe('done');
    await waitFor(() => collector.bodies.length >= refusals);
  }
  collector.answer.status = 200;
  await waitFor(async () => (await traced()) && told.info.mock.calls.length > 0);
  await stop(flushMs);

  expect(told.warn).toHaveBeenCalledTimes(1);
  expect(told.info).toHaveBeenCalledTimes(1);
});

it('stops in time when the collector does not respond', async () => {
  process.env['OTEL_EXPORTER_OTLP_TIMEOUT'] = '60000';
  const unanswered: ServerResponse[] = [];
  collector.server.removeAllListeners('request').on('request', (_, response) => unanswered.push(response));
  const stop = traceToCollector('parley-test', everything, logger);
  await continueTrace(undefined, work, () => Promise.resolve());

  await waitFor(() => unanswered.length === 1);
  await stop(200);

  // The exporter is still waiting.
  expect(unanswered[0]!.destroyed).toBe(false);
  unanswered[0]!.end('{}');
});
