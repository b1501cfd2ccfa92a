import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fastify, type FastifyInstance, type FastifyRequest } from 'fastify';
import { BodiesUnderWay, limitBodyTime, useJsonBodies } from './body-parser';

let server: FastifyInstance;

beforeEach(async () => {
  server = fastify();
  useJsonBodies(server);
  server.addHook('onRequest', (incoming, _reply, done) => {
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

describe('bodies on their way in', () => {
  const request = (headers: Record<string, string>) => ({ headers }) as FastifyRequest;

  it('are refused beyond what all together may take, and admitted again when one has ended', () => {
    const bodies = new BodiesUnderWay(100);
    const first = request({ 'content-length': '60' });
    bodies.admit(first, 2_000_000);

    expect(() => bodies.admit(request({ 'content-length': '41' }), 2_000_000)).toThrow(/100 bytes are on their way/);
    bodies.admit(request({ 'content-length': '40' }), 2_000_000);
    bodies.release(first);
    bodies.release(first);
    bodies.admit(request({ 'content-length': '60' }), 2_000_000);
    expect(() => bodies.admit(request({ 'content-length': '1' }), 2_000_000)).toThrow(/100 bytes are on their way/);
  });

  it('count for their limit when they do not say how long they are, and for nothing when there is none', () => {
    const bodies = new BodiesUnderWay(100);

    bodies.admit(request({ 'transfer-encoding': 'chunked' }), 100);

    bodies.admit(request({}), 100);
    expect(() => bodies.admit(request({ 'content-length': '1' }), 100)).toThrow(/100 bytes are on their way/);
  });
});
