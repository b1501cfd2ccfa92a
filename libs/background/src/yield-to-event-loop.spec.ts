import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { yieldToEventLoop } from './yield-to-event-loop';

it('lets data be received that arrived during a callback of I/O', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [served] = (await once(server, 'connection')) as [Socket];
  const received: string[] = [];
  served.on('data', (data) => received.push(data.toString()));
  client.write('first');
  await once(served, 'data');
  client.write('second');

  await yieldToEventLoop();

  expect(received).toEqual(['first', 'second']);
  client.destroy();
  server.close();
  await once(server, 'close');
});
