import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

type Listener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/**
 * Hands every WebSocket handshake to the listener. Once somebody listens, Node serves no request any more that offers an
 * upgrade: those to other protocols, as some clients offer HTTP/2 with every request, are served as if they had not.
 */
export function onWebSocket(server: Server, listener: Listener): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (request.headers.upgrade?.toLowerCase() === 'websocket') listener(request, socket, head);
    else serveWithoutUpgrade(server, request, socket, head);
  });
}

/** Gives the connection back to the server as if it began with this request, without its offer. */
function serveWithoutUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${rawHeaders[index + 1]!}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}
