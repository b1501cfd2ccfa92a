import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { httpRequest, runLoad } from './load';

async function load(listener: RequestListener, request = httpRequest('GET /', {})) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const result = await runLoad({ url, connections: 2, seconds: 0.2, next: () => request });
  server.close();
  return result;
}

it('counts every answer and its bytes, also of an answer that comes in pieces', async () => {
  const received: string[] = [];
  const request = httpRequest('PUT /here', { 'x-bot-id': 'b' }, '{"a":1}');

  const result = await load((message, response) => {
    message.on('data', (chunk: Buffer) =>
      received.push([message.url, message.headers['x-bot-id'], chunk.toString()].join(' ')),
    );
    response.writeHead(201, { 'content-length': 4 });
    response.write('ab');
    setImmediate(() => response.end('cd'));
  }, request);

  expect(result).toMatchObject({ errors: 0, firstError: undefined, bodyBytes: 4 * result.count });
  expect(result.count).toBe(received.length);
  expect(new Set(received)).toEqual(new Set(['/here b {"a":1}']));
  expect(result.p99Ms).toBeGreaterThanOrEqual(result.p50Ms);
});

it('counts answers that say that something is wrong as errors', async () => {
  const result = await load((_request, response) => response.writeHead(503, { 'content-length': 0 }).end());

  expect(result.errors).toBe(result.count);
  expect(result.firstError).toBe('answered 503');
});

it('counts a request that a closed connection leaves without an answer', async () => {
  const result = await load((request) => request.socket.destroy());

  expect(result).toMatchObject({ count: 0, errors: 2, firstError: 'The server closed the connection.' });
});
