import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@parley/testing/until';
import { markOf, SseConnection } from './sse-connection';

const frame = `data: {"text":"${markOf(3)} and ${markOf(41)}"}\n\n`;

/** Answers every request by this, piece by piece. */
async function serve(...pieces: string[]) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.setNoDelay(true));
    socket.once('data', () => {
      void (async () => {
        for (const piece of pieces) {
          socket.write(piece);
          await sleep(1);
        }
      })();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => {
      sockets.forEach((socket) => socket.destroy());
      server.close();
    },
  };
}

it('tells every mark once, also of one that comes in pieces', async () => {
  const server = await serve('HTTP/1.1 200 OK\r\n\r\n', ...frame, frame);
  const marks: number[] = [];

  const stream = await SseConnection.open(server.url, '/here', {}, (number) => marks.push(number));

  await until(() => marks.length >= 4);
  stream.close();
  server.stop();
  expect(marks).toEqual([3, 41, 3, 41]);
});

it('is not open when it was refused', async () => {
  const server = await serve('HTTP/1.1 403 Forbidden\r\n\r\n');

  const opening = SseConnection.open(server.url, '/here', {}, () => undefined);

  await expect(opening).rejects.toThrow('HTTP/1.1 403');
  server.stop();
});
