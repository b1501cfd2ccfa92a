import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';

type Listener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/**
 * Passes WebSocket handshakes to the listener. With an `upgrade` listener, Node no longer serves requests that offer
 * another upgrade unless this callback says so. Some clients offer HTTP/2 with each request.
 */
export function onWebSocket(server: Server, listener: Listener): void {
  // The option of `createServer`, which is kept under this name: others create the server.
  Object.assign(server, {
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === 'websocket',
  });
  server.on('upgrade', listener);
}
