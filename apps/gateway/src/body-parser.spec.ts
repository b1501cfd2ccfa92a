import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { anyone } from '@parley/contracts/access';
import { operation } from '@parley/contracts/operation';
import { fastify, type FastifyInstance } from 'fastify';
import { BodyReader } from './bodies/body-reader';
import { BodyRoom } from './bodies/body-room';
import { limitBodyTime, type ReadRequest, useJsonBodies } from './body-parser';

const slow = operation({ subject: 'probe.slow', summary: 'A probe.', access: anyone, input: Object, output: Object });
let server: FastifyInstance;

beforeEach(async () => {
  server = fastify();
  useJsonBodies(server, new BodyReader(new BodyRoom(10)));
  server.addHook('onRequest', (incoming: ReadRequest, _reply, done) => {
    const sender = { tenant: 'somebody', isProven: true };
    incoming.incoming = { raw: incoming.raw, operation: slow, sender };
    limitBodyTime(incoming, 100);
    done();
  });
  server.post('/slow', async () => {
    await sleep(300);
    return { done: true };
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
});

afterEach(() => server.close());

/** Sends a body of two bytes, or the first one only; tells the status, or that the connection was cut. */
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

it('cuts off a body that does not arrive in time', async () => {
  expect(await send('{')).toBe('cut');
});

it('leaves a whole body alone, however long its answer takes', async () => {
  expect(await send('{}')).toBe(200);
});
