import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { waitFor } from '@parley/testing/wait-for';
import { Connections } from './connections';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const silent: Handler = () => undefined;
const unending = 60_000;

let server: Server;
let connections: Connections;
let agent: Agent;
let port: number;

beforeEach(() => {
  agent = new Agent({ keepAlive: true });
});

afterEach(() => {
  agent.destroy();
  server.closeAllConnections();
  server.close();
});

async function listen(handler: Handler): Promise<void> {
  server = createServer({ keepAliveTimeout: 0 }, handler);
  connections = new Connections(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
}

async function client(sent: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  const [accepted] = (await once(server, 'connection')) as [Socket];
  if (sent) socket.write(sent);
  await waitFor(
    () => accepted.bytesRead,
    (read) => read === sent.length,
  );
  return socket;
}

const answerOf = (socket: Socket) => text(socket);

function get(): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    httpRequest({ port, host: '127.0.0.1', agent }, resolve).on('error', reject).end();
  });
}

describe('closing a server', () => {
  it.each([
    ['has sent nothing', ''],
    ['has sent half of a request line', 'GET /hea'],
    ['has sent half of its headers', 'GET / HTTP/1.1\r\nHost: a\r\nX-'],
  ])('closes a server without waiting for a client that %s', async (_what, sent) => {
    await listen(silent);
    const answer = answerOf(await client(sent));

    await connections.close(unending);

    expect(await answer).toBe('');
  });

  it('closes a server without waiting for an idle keep-alive connection', async () => {
    await listen((_request, response) => response.end('done'));
    await text(await get());

    await connections.close(unending);

    expect(server.listening).toBe(false);
  });

  it('closes a server without waiting for a connection with an incomplete next request', async () => {
    await listen((_request, response) => response.end('done'));
    const first = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
    const socket = await client(`${first}GET / HT`);
    const answer = answerOf(socket);

    await connections.close(unending);

    expect(await answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*done$/);
  });

  it('finishes active requests of a closing server, then closes their connections', async () => {
    const taken: ServerResponse[] = [];
    await listen((_request, response) => taken.push(response));
    const answers = [get(), get()];
    await waitFor(
      () => taken.length,
      (count) => count === 2,
    );

    const closed = connections.close(unending);
    taken.forEach((response) => response.end('done'));

    expect(await Promise.all(answers.map(async (answer) => text(await answer)))).toEqual(['done', 'done']);
    await closed;
  });

  it('accepts no new connections to a closing server', async () => {
    await listen(silent);

    await connections.close(unending);

    await expect(get()).rejects.toThrow('ECONNREFUSED');
  });

  it('answers 504 "may have been processed" after the timeout of a closing server', async () => {
    await listen(silent);
    const answer = answerOf(await client('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));

    await connections.close(50);

    expect(await answer).toMatch(/^HTTP\/1\.1 504 [\s\S]*connection: close[\s\S]*"type":"OperationTimeout"/i);
  });

  it('answers 503 "not processed" to an incomplete request of a closing server, and ends its reader', async () => {
    let reading: Promise<unknown> | undefined;
    await listen((request) => {
      reading = text(request).catch((error: Error) => error.message);
    });
    const answer = answerOf(await client('PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345'));

    await connections.close(50);

    expect(await answer).toMatch(/^HTTP\/1\.1 503 [\s\S]*retry-after: 1[\s\S]*"type":"Internal"/i);
    expect(await reading).toBe('Premature close');
  });

  it('closes the connection of an answer that has begun and does not end', async () => {
    await listen((_request, response) => response.writeHead(200, { 'content-length': 10 }).write('12345'));
    const answer = answerOf(await client('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));

    await connections.close(50);

    expect(await answer).toMatch(/12345$/);
  });
});
