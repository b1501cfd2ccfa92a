import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { httpRequest } from './load';
import { SteadyLoader } from './steady-load';

const created = { 'content-length': 0 };

/** Twenty requests in a fifth of a second, over one connection. */
async function load(loader: SteadyLoader, listener: RequestListener, listeners = 1) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const request = (number: number) => httpRequest(`POST /${number}`, {});
  const result = await loader.run({ url, connections: 1, seconds: 0.2, perSecond: 100, request, listeners });
  server.close();
  return result;
}

it('sends requests at their times, and goes on counting where it has stopped', async () => {
  const loader = new SteadyLoader();
  const sent: string[] = [];
  const answer: RequestListener = ({ url }, response) => {
    sent.push(url!);
    loader.heard(Number(url!.slice(1)));
    loader.heard(Number(url!.slice(1)));
    response.writeHead(201, created).end();
  };
  const started = performance.now();

  const first = await load(loader, answer, 2);
  const second = await load(loader, answer, 2);

  expect(performance.now() - started).toBeGreaterThan(2 * 190);
  expect(first).toMatchObject({ count: 40, firstError: undefined });
  expect(second).toMatchObject({ count: 40, firstError: undefined });
  expect(sent).toEqual(Array.from({ length: 40 }, (_, number) => `/${number}`));
});

it('counts the time from when a request was due, also of one that had to wait for those before', async () => {
  const loader = new SteadyLoader();
  const delayMs = 50;

  const result = await load(loader, ({ url }, response) => {
    setTimeout(() => {
      loader.heard(Number(url!.slice(1)));
      response.writeHead(201, created).end();
    }, delayMs);
  });

  // The last is due after 190 ms and sent when 19 others are answered.
  expect(result.p99Ms).toBeGreaterThan(20 * delayMs - 190 - delayMs);
  expect(result.p50Ms).toBeGreaterThan(5 * delayMs);
  expect(result.lateMs).toBeGreaterThan(5 * delayMs);
});

it('says what was not heard, and which answer was another', async () => {
  const silent = await load(new SteadyLoader(100), (_request, response) => response.writeHead(201, created).end());
  const refused = await load(new SteadyLoader(100), (_request, response) => response.writeHead(503, created).end());

  expect(silent).toMatchObject({ count: 0, firstError: '0 of 20 frames arrived' });
  expect(refused).toMatchObject({ firstError: 'answered 503' });
});
