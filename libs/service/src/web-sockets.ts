import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

type Listener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/**
 * Passes WebSocket handshakes to the listener. With an `upgrade` listener, Node no longer serves requests that offer an
 * upgrade. Some clients offer HTTP/2 with each request; these are served as if they had not.
 */
export function onWebSocket(server: Server, listener: Listener): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (request.headers.upgrade?.toLowerCase() === 'websocket') listener(request, socket, head);
    else serveWithoutUpgrade(server, request, socket, head);
  });
}

/** Returns the connection to the server, starting with this request without its upgrade header. */
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
