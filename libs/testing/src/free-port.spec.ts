import { once } from 'node:events';
import { createServer } from 'node:net';
import { freePort } from './free-port';

/** What Linux gives to outgoing connections begins here. */
const firstOutgoing = 32_768;

describe('freePort', () => {
  it('gives no port twice, and none that an outgoing connection may take', async () => {
    const ports = await Promise.all(Array.from({ length: 200 }, () => freePort()));

    expect(new Set(ports).size).toBe(200);
    expect(Math.max(...ports)).toBeLessThan(firstOutgoing);
  });

  it('passes over a port on which something listens', async () => {
    const next = (await freePort()) + 1;
    const taken = createServer().listen(next, '127.0.0.1');
    await once(taken, 'listening');

    const given = await freePort();

    taken.close();
    expect(given).not.toBe(next);
  });
});
