import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@parley/testing/wait-for';
import { type FastifyInstance, fastify } from 'fastify';
import pino from 'pino';
import { Metrics } from './metrics';
import type { Platform } from './platform';
import { logRequests, requestId } from './request-log';

const lines: Record<string, unknown>[] = [];
const logger = pino(
  { base: null },
  { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) },
);
const metrics = new Metrics();
let server: FastifyInstance;
let url: string;

beforeAll(async () => {
  server = fastify({ genReqId: requestId });
  logRequests(server, { logger, metrics } as Platform, ({ params }) => ({ thing: (params as { id: string }).id }));
  server.put('/things/:id', (_request, reply) => reply.header('x-error-id', 'err_1').code(201).send({ made: true }));
  server.get('/never/:id', () => new Promise(() => undefined));
  await server.listen({ port: 0, host: '127.0.0.1' });
  url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
});

afterAll(() => server.close());

const lineOf = (id: string) =>
  waitFor(
    () => lines.find((line) => line['requestId'] === id),
    (line) => line !== undefined,
  );

it('logs route, status, duration and bytes of a request', async () => {
  const headers = { 'x-request-id': 'r-1', 'content-type': 'application/json' };

  await fetch(`${url}/things/a`, { method: 'PUT', headers, body: '{"size":1}' });

  expect(await lineOf('r-1')).toEqual({
    level: 30,
    time: expect.any(Number) as number,
    msg: 'request',
    route: 'PUT /things/:id',
    status: 201,
    ms: expect.any(Number) as number,
    bytesIn: 10,
    bytesOut: 13,
    requestId: 'r-1',
    errorId: 'err_1',
    thing: 'a',
  });
  expect(await metrics.registry.metrics()).toMatch(
    /parley_http_request_seconds_count\{route="PUT \/things\/:id",status="201"\} 1/,
  );
});

it('logs a client that disconnected before the response', async () => {
  const request = httpRequest(`${url}/never/b`, { headers: { 'x-request-id': 'r-2' } }).on('error', () => undefined);
  request.end();
  await once(server.server, 'request');

  request.destroy();

  expect(await lineOf('r-2')).toMatchObject({ route: 'GET /never/:id', status: 499, aborted: true, thing: 'b' });
});
