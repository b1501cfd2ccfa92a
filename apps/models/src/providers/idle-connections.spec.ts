import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { waitFor } from '@parley/testing/wait-for';
import type { Provider } from './provider';
import { UpstreamClient } from './upstream.client';

let server: Server;

beforeEach(async () => {
  server = createServer((_request, response) => response.end('{}'));
  server.keepAliveTimeout = 3_600_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(() => server.close());

it('closes an idle connection before a provider does, which might meet the next request', async () => {
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  const client = new UpstreamClient();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = { name: 'p', url, timeoutMs: 60_000 } as Provider;
  const ask = async () => {
    const answer = await client.send(provider, { path: 'models', method: 'GET', signal: new AbortController().signal });
    for await (const _events of answer.events());
  };
  await ask();
  await ask();
  expect(sockets).toHaveLength(1);

  await waitFor(() => sockets[0]!.destroyed);
  await ask();
  expect(sockets).toHaveLength(2);
  client.onApplicationShutdown();
});
