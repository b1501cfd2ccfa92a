import { request } from 'node:http';
import { anyone } from '@parley/contracts/access';
import { operation } from '@parley/contracts/operation';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { fastify, type FastifyInstance } from 'fastify';
import { BodiesService } from '../bodies/bodies.service';
import { BodyMemoryLimiter } from '../bodies/body-memory.limiter';
import { leaveBodiesUnread, limitBodyTime } from './body-parser';

const slow = operation({ subject: 'probe.slow', summary: 'A probe.', access: anyone, input: Object, output: Object });
const limitMs = 60_000;
let server: FastifyInstance;
let hasBegun: Promise<void>;

beforeEach(async () => {
  let begun = () => undefined as void;
  hasBegun = new Promise((resolve) => (begun = resolve));
  fakeClock('setTimeout', 'clearTimeout');
  server = fastify();
  leaveBodiesUnread(server);
  const bodies = new BodiesService(new BodyMemoryLimiter(10));
  server.post('/slow', async (incoming) => {
    limitBodyTime(incoming, limitMs);
    begun();
    await bodies.read({ raw: incoming.raw, operation: slow, sender: { tenant: 'somebody', isAuthenticated: true } });
    jest.advanceTimersByTime(2 * limitMs);
    return { done: true };
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
});

afterEach(async () => {
  realClock();
  await server.close();
});

/** Sends a body of two bytes, or only its first byte. Resolves with the status, or 'cut' when the connection was closed. */
function send(body: string): Promise<number | 'cut'> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', 'content-length': '2' };
    const outgoing = request(`${server.listeningOrigin}/slow`, { method: 'POST', headers, agent: false });
    outgoing.on('response', (response) => resolve(response.resume().statusCode!));
    outgoing.on('error', () => resolve('cut'));
    outgoing.write(body);
    if (body.length === 2) outgoing.end();
  });
}

it('closes the connection when a body does not arrive in time', async () => {
  const answer = send('{');
  await hasBegun;

  jest.advanceTimersByTime(limitMs);

  expect(await answer).toBe('cut');
});

it('does not time out a complete body whose answer takes long', async () => {
  expect(await send('{}')).toBe(200);
});
