import { once } from 'node:events';
import { Agent, createServer, request, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { json, text } from 'node:stream/consumers';
import { Connections } from './connections';
import { onWebSocket } from './web-sockets';

let server: Server;
let connections: Connections;
let port: number;
let handshakes: string[];
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

beforeEach(async () => {
  handshakes = [];
  server = createServer((incoming, response) => {
    void text(incoming).then((body) => {
      const { method, url, headers } = incoming;
      response.end(JSON.stringify({ method, url, body, custom: headers['x-custom'] }));
    });
  });
  connections = new Connections(server);
  onWebSocket(server, (incoming, socket) => {
    handshakes.push(incoming.url!);
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

afterAll(() => agent.destroy());

function send(method: string, body: string, headers: Record<string, string>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const all = { ...headers, 'content-length': String(Buffer.byteLength(body)) };
    const outgoing = request({ port, host: '127.0.0.1', method, path: '/a?b=c', headers: all, agent });
    outgoing.on('response', (response) => void json(response).then(resolve, reject));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

const http2 = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' };

describe('a server that takes WebSockets', () => {
  it('passes a handshake to the listener of WebSockets', async () => {
    await expect(send('GET', '', { connection: 'Upgrade', upgrade: 'WebSocket' })).rejects.toThrow();

    expect(handshakes).toEqual(['/a?b=c']);
  });

  it.each([
    ['GET', ''],
    ['POST', 'a body'],
    ['POST', 'ü'.repeat(1_000_000)],
    ['DELETE', '{}'],
  ])('serves a %s with an HTTP/2 upgrade offer as if it had none', async (method, body) => {
    const answer = await send(method, body, { ...http2, 'x-custom': 'kept' });

    expect(answer).toEqual({ method, url: '/a?b=c', body, custom: 'kept' });
    expect(handshakes).toEqual([]);
  });

  it('serves further requests on the connection of a refused upgrade', async () => {
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => sockets.add(socket));

    for (const body of ['first', 'second', 'third']) {
      expect(await send('PUT', body, body === 'third' ? {} : http2)).toMatchObject({ body });
    }

    expect(sockets.size).toBe(1);
  });

  it('accumulates no state over the requests of a connection', async () => {
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => sockets.add(socket));
    const listeners = () => [...sockets].map((socket) => socket.listenerCount('close')).join();
    await send('GET', '', http2);
    await send('GET', '', http2);
    const before = listeners();

    for (let count = 0; count < 5; count += 1) await send('GET', '', http2);

    expect(listeners()).toBe(before);
  });

  it('closes a server with WebSockets in time', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET /a HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n');
    await once(socket, 'data');

    await connections.close(60_000);

    expect(server.listening).toBe(false);
  });
});
