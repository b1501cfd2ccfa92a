import { once } from 'node:events';
import { connect } from 'node:net';
import type { Replica } from './replica';

/** Opens connections without a request, with a complete one, and with the beginning of one. */
export async function keepConnections({ port }: Replica): Promise<void> {
  const whole = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
  for (const sent of ['', 'GET /heal', whole, `${whole}GET /heal`]) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(sent);
    if (sent.startsWith(whole)) await once(socket, 'data');
    socket.resume();
  }
}
