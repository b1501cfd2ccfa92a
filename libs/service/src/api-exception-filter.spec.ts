import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { waitFor } from '@parley/testing/wait-for';
import { type FastifyInstance, fastify } from 'fastify';
import pino from 'pino';
import { ApiExceptionFilter } from './api-exception.filter';
import { Metrics } from './metrics';
import type { Platform } from './platform';
import { logRequests, requestId } from './request-log';

interface Line {
  level: number;
  msg: string;
  status?: number;
  requestId?: string;
}

const lines: Line[] = [];
const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line) as Line) });
const metrics = new Metrics();
const platform = { logger, metrics } as Platform;
let server: FastifyInstance;

beforeAll(async () => {
  const filter = new ApiExceptionFilter(platform);
  server = fastify({ genReqId: requestId });
  logRequests(server, platform, () => ({}));
  server.setErrorHandler((error, request, reply) => filter.answer(error, request, reply));
  server.post('/parsed', () => ({}));
  server.addContentTypeParser('text/plain', (_request, _payload, done) => done(null));
  server.post('/streamed', async ({ raw }) => {
    for await (const chunk of raw) expect(chunk).toBeDefined();
  });
  server.post('/failing', async ({ raw }) => {
    raw.on('error', () => undefined).resume();
    await new Promise((resolve) => raw.once('close', resolve));
    throw new Error('a defect of ours');
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
});

beforeEach(() => lines.splice(0));
afterAll(() => server.close());

const port = () => (server.server.address() as AddressInfo).port;

async function dropBody(path: string, headers: string[], begun: string, leave: 'destroy' | 'resetAndDestroy') {
  const socket = connect(port(), '127.0.0.1');
  socket.on('error', () => undefined);
  const asked = once(server.server, 'request');
  socket.write([`POST ${path} HTTP/1.1`, 'host: here', 'x-request-id: dropped', ...headers, '', begun].join('\r\n'));
  await asked;
  socket[leave]();
  await waitFor(() => lines.some((line) => line.requestId === 'dropped'));
  // Log lines of the dropped request are written before the next one is answered.
  await fetch(`http://127.0.0.1:${port()}/parsed`, { method: 'POST', headers: { 'x-request-id': 'next' } });
  const isNext = (line: Line) => line.requestId === 'next';
  await waitFor(() => lines.some(isNext));
  lines.splice(lines.findIndex(isNext), 1);
}

const ofLength = ['content-type: application/json', 'content-length: 100'];
const inChunks = ['content-type: application/json', 'transfer-encoding: chunked'];
const streamed = ['content-type: text/plain', 'content-length: 100'];

it.each<[string, string, string[], string]>([
  ['a body of a length', '/parsed', ofLength, '{"name":'],
  ['a body in chunks', '/parsed', inChunks, '4\r\n{"na\r\n'],
  ['a body that is streamed', '/streamed', streamed, 'abc'],
])('logs no error for a client that drops %s, and counts it with status 499', async (_, path, headers, begun) => {
  for (const leave of ['destroy', 'resetAndDestroy'] as const) await dropBody(path, headers, begun, leave);

  expect(lines).toMatchObject(Array(2).fill({ level: 30, msg: 'request', status: 499 }));
  expect(await metrics.registry.metrics()).not.toMatch(/status="5/);
});

it('logs an internal error although the client has disconnected', async () => {
  await dropBody('/failing', streamed, 'abc', 'destroy');

  expect(lines).toContainEqual(
    expect.objectContaining({ level: 50, err: expect.objectContaining({ message: 'a defect of ours' }) as object }),
  );
});
