import { once } from 'node:events';
import { connect } from 'node:net';
import { json } from 'node:stream/consumers';
import { TunnelTail } from '@bpinternal/tunnel';
import { systemCaller } from '@parley/contracts/caller';
import {
  type TunnelFailure,
  tunnelFailureOf,
  tunnelHolder,
  tunnelRequest,
  type TunnelReply,
  type TunnelRequest,
} from '@parley/contracts/tunnel';
import { tunnelKey } from '@parley/secrets/tunnel-key';
import type { Platform } from '@parley/service/platform';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { freePort } from '@parley/testing/free-port';
import { metricValue } from '@parley/testing/metric-value';
import { type RunningService, startService, startServiceOn } from '@parley/testing/running-service';
import { waitFor } from '@parley/testing/wait-for';
import { ParleyClient } from '@parley/transport/parley-client';
import { WebSocket } from 'ws';
import { GatewayConfig } from '../config';
import { GatewayModule } from '../gateway.module';
import { closeCodes } from './tunnel';

/** Needed because of TRUSTED_PROXIES. */
const metricsToken = 'token-of-the-metrics';

type Respond = (tail: TunnelTail, request: { id: string; path: string; body?: string }) => void;

let service: RunningService;
let tunnelPort: number;
const tails: TunnelTail[] = [];
let ids = 0;

const gateway = (config: Partial<GatewayConfig>) => (_databaseUrl: string, platform: Platform) =>
  GatewayModule.register(Object.assign(new GatewayConfig(), { tunnelUrl: 'http://tunnel.test' }, config), platform);

beforeAll(async () => {
  tunnelPort = await freePort();
  service = await startService(gateway({ tunnelPort, trustedProxies: '127.0.0.1', metricsToken }));
});

afterEach(async () => {
  realClock();
  for (const tail of tails.splice(0)) if (!tail.closed) tail.close();
  await waitFor(
    () => metric('parley_tunnel_sockets'),
    (sockets) => sockets === 0,
  );
});

afterAll(() => service?.stop());

const echo: Respond = (tail, { id, path, body }) =>
  tail.send({ requestId: id, status: 201, headers: { 'X-Path': path }, body });
const silent: Respond = () => undefined;

function newId(): string {
  ids += 1;
  return `tunnel|${ids}-a_b`;
}

async function dial(id: string, respond: Respond = echo, port = tunnelPort): Promise<TunnelTail> {
  const tail = await TunnelTail.new(`ws://127.0.0.1:${port}`, id);
  tails.push(tail);
  tail.events.on('request', (incoming) => tail.closed || respond(tail, incoming));
  return tail;
}

function closeCodeOf(tail: TunnelTail): Promise<number> {
  return new Promise((resolve) => tail.events.once('close', ({ code }) => resolve(code)));
}

function request(id: string, input: Partial<TunnelRequest> = {}, { apps } = service): Promise<TunnelReply> {
  const client = apps[0]!.get(ParleyClient, { strict: false });
  const whole = { method: 'POST', path: '/', headers: {}, ...input };
  return client.callInstance(tunnelRequest, tunnelKey(id), systemCaller('request-1'), whole);
}

async function failureOf(reply: Promise<TunnelReply>): Promise<TunnelFailure | undefined> {
  return tunnelFailureOf(await reply.catch((error: unknown) => error));
}

async function metric(name: string): Promise<number> {
  const answer = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
  return metricValue(await answer.text(), name);
}

/** Opens a socket through a proxy that names this client. */
async function dialFrom(address: string, path: string, port = tunnelPort): Promise<WebSocket | number> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: { 'x-forwarded-for': address } });
  return new Promise((resolve) => {
    socket.once('open', () => resolve(socket));
    socket.once('unexpected-response', (_request, { statusCode }) => resolve(statusCode!));
  });
}

describe('A tunnel', () => {
  it('passes a request to the client of a tunnel, and the answer back', async () => {
    const id = newId();
    const seen: unknown[] = [];
    await dial(id, (tail, incoming) => {
      seen.push(incoming);
      const headers = { 'Content-Type': 'text/plain', 'x-list': ['a', 'b'] };
      tail.send({ requestId: incoming.id, status: 418, headers, body: 'Grüße 🦜' });
    });

    const reply = await request(id, {
      method: 'PUT',
      path: '/a',
      query: 'b=c',
      headers: { 'x-bp-type': 'd' },
      body: '{}',
    });

    expect(reply).toEqual({
      status: 418,
      headers: { 'content-type': 'text/plain', 'x-list': 'a, b' },
      body: 'Grüße 🦜',
    });
    expect(seen).toEqual([
      {
        type: 'request',
        id: expect.any(String),
        method: 'PUT',
        path: '/a',
        query: 'b=c',
        headers: { 'x-bp-type': 'd' },
        body: '{}',
      },
    ]);
  });

  it('matches answers of a tunnel that come in another order, and counts them', async () => {
    const id = newId();
    const waiting: { id: string; path: string }[] = [];
    await dial(id, (tail, incoming) => {
      waiting.push(incoming);
      if (waiting.length === 3) waiting.reverse().forEach((each) => echo(tail, each));
    });
    const answered = 'parley_tunnel_requests_total{outcome="answered"}';
    const before = await metric(answered);

    const replies = await Promise.all(['/1', '/2', '/3'].map((path) => request(id, { path })));

    expect(replies.map(({ headers }) => headers['x-path'])).toEqual(['/1', '/2', '/3']);
    expect(await metric(answered)).toBe(before + 3);
  });

  it('accepts answers of a tunnel without a type and with a numeric header, as old clients send them', async () => {
    const id = newId();
    const socket = (await dialFrom('192.0.2.1', `/${id}`)) as WebSocket;
    socket.on('message', (data: Buffer) => {
      const { id: requestId } = JSON.parse(data.toString()) as { id: string };
      socket.send(JSON.stringify({ requestId, status: 204, headers: { 'content-length': 0 } }));
    });

    expect(await request(id)).toEqual({ status: 204, headers: { 'content-length': '0' }, body: '' });
    socket.close();
  });

  it('closes a second client with the id of an open tunnel with 4001', async () => {
    const id = newId();
    await dial(id);

    const second = await dial(id);

    expect(await closeCodeOf(second)).toBe(closeCodes.idInUse);
    expect(await request(id)).toMatchObject({ status: 201 });
  });

  it('accepts one of many clients that dial a tunnel at once', async () => {
    const id = newId();

    const codes: number[] = [];
    const dialOnce = async () => (await dial(id)).events.once('close', ({ code }) => codes.push(code));
    await Promise.all(Array.from({ length: 5 }, dialOnce));

    await waitFor(() => codes.length === 4);
    expect(codes).toEqual(Array.from(codes, () => closeCodes.idInUse));
    expect(await request(id)).toMatchObject({ status: 201 });
  });

  it('opens a tunnel again after its client has left', async () => {
    const id = newId();
    const first = await dial(id);
    first.close();
    await waitFor(async () => (await failureOf(request(id))) === 'not connected');

    await dial(id, (tail, { id: requestId }) => tail.send({ requestId, status: 202 }));

    expect(await request(id)).toMatchObject({ status: 202 });
  });

  it('reports whether a tunnel waits for the answer to a request', async () => {
    const id = newId();
    let answer = () => {};
    const tail = await dial(id, (dialed, incoming) => (answer = () => echo(dialed, incoming)));
    const isCalled = new Promise((resolve) => tail.events.once('request', resolve));
    const isPending = async (requestId: string) => {
      const client = service.apps[0]!.get(ParleyClient, { strict: false });
      const caller = systemCaller('request-2');
      return (await client.callInstance(tunnelHolder, tunnelKey(id), caller, { requestId })).isPending;
    };

    const reply = request(id, { requestId: 'asked' });
    await isCalled;
    const [asked, other] = [await isPending('asked'), await isPending('other')];
    answer();
    await reply;

    expect([asked, other, await isPending('asked')]).toEqual([true, false, false]);
  });

  it('fails requests at once when the client of a tunnel leaves', async () => {
    const id = newId();
    await dial(id, (tail) => tail.close());

    expect(await failureOf(request(id))).toBe('disconnected');
  });

  it('fails a request of a tunnel after its time limit, and ignores a late answer however large it is', async () => {
    const id = newId();
    let late = () => undefined as void;
    await dial(id, (tail, incoming) => {
      if (incoming.path === '/late') late = () => echo(tail, { ...incoming, body: 'x'.repeat(100_000) });
      else echo(tail, incoming);
    });

    expect(await failureOf(request(id, { path: '/late', timeoutMs: 50 }))).toBe('timed out');
    late();

    expect(await request(id)).toMatchObject({ status: 201 });
  });

  it('passes bodies of some megabytes through a tunnel, but no frame above 5 MB', async () => {
    const id = newId();
    const body = 'x'.repeat(4_900_000);
    const tail = await dial(id, (to, { id: requestId, body: text, path }) =>
      to.send({ requestId, status: 200, body: path === '/larger' ? 'x'.repeat(6_000_000) : text }),
    );
    const closed = closeCodeOf(tail);
    // Without it the tunnel ends after 10 s, which a slow machine needs for these bodies.
    tail.hello();

    expect((await request(id, { body })).body).toHaveLength(body.length);
    expect(await failureOf(request(id, { body: 'x'.repeat(5_000_000) }))).toBe('too large');
    expect(await failureOf(request(id, { path: '/larger' }))).toBe('disconnected');
    expect(await closed).toBe(1009);
  });

  it('accepts at most 100 requests at once through a tunnel', async () => {
    const id = newId();
    let reached = 0;
    const tail = await dial(id, () => (reached += 1));
    const open = Array.from({ length: 100 }, () => failureOf(request(id)));
    await waitFor(() => reached === 100);

    expect(await failureOf(request(id))).toBe('busy');
    tail.close();
    expect(new Set(await Promise.all(open))).toEqual(new Set(['disconnected']));
  });

  it.each([
    ['no JSON', 'garbage'],
    ['another JSON value', '[1]'],
    ['an unknown type', '{"type":"request","id":"1"}'],
    ['no status', '{"requestId":"1"}'],
    ['an impossible status', '{"requestId":"1","status":7}'],
    ['an invalid header', '{"requestId":"1","status":200,"headers":{"a":{}}}'],
    ['an invalid body', '{"requestId":"1","status":200,"body":{}}'],
    ['binary data', Buffer.from('{"type":"hello"}')],
  ])('closes a tunnel with 4002 after a frame with %s', async (_what, frame) => {
    const id = newId();
    const socket = (await dialFrom('192.0.2.2', `/${id}`)) as WebSocket;
    const closed = once(socket, 'close');

    socket.send(frame);

    expect((await closed)[0]).toBe(closeCodes.invalidFrame);
    expect(await failureOf(request(id))).toBe('not connected');
  });

  it.each(['/', `/${'a'.repeat(129)}`, '/a/b', '/a?b=c', '/a%20b'])(
    'closes a tunnel with 4000 at the path %s',
    async (path) => {
      const socket = (await dialFrom('192.0.2.3', path)) as WebSocket;

      expect((await once(socket, 'close'))[0]).toBe(closeCodes.invalidId);
    },
  );

  it('closes a tunnel without a hello within 10 s, or later within 30 s', async () => {
    fakeClock('setTimeout', 'clearTimeout');
    const [quiet, alive] = [await dial(newId(), silent), await dial(newId(), silent)];
    const closed = [closeCodeOf(quiet), closeCodeOf(alive)];
    let pings = 0;
    (alive as unknown as { _ws: WebSocket })._ws.on('ping', () => (pings += 1));

    alive.hello();
    await waitFor(() => pings === 1);
    jest.advanceTimersByTime(10_000);
    expect(await closed[0]).toBe(closeCodes.silent);
    expect(alive.closed).toBe(false);
    expect(await metric('parley_tunnel_sockets')).toBe(1);

    jest.advanceTimersByTime(20_000);
    expect(await closed[1]).toBe(closeCodes.silent);
  });

  it('fails a request at once without a client of the tunnel', async () => {
    expect(await failureOf(request(newId()))).toBe('not connected');
  });
});

describe('The tunnel port', () => {
  it('returns 404 on the tunnel port without reading the body, and 200 to a health check', async () => {
    const url = `http://127.0.0.1:${tunnelPort}`;

    const call = await fetch(`${url}/some-id/path`, { method: 'POST', body: 'x'.repeat(1_000) });
    const health = await fetch(`${url}/health`);

    expect([call.status, health.status]).toEqual([404, 200]);
    expect(await call.json()).toMatchObject({ code: 404, type: 'ResourceNotFound' });
  });

  it.each(['https://page.example', 'null', 'http://127.0.0.1:3000'])(
    'refuses a web page of the origin %s, which could otherwise answer for a bot',
    async (origin) => {
      const socket = new WebSocket(`ws://127.0.0.1:${tunnelPort}/${newId()}`, { origin });
      const answer = await new Promise((resolve) => {
        socket.once('open', () => resolve(closing(socket).readyState));
        socket.once('unexpected-response', (_request, response) => resolve(json(response)));
      });

      expect(answer).toMatchObject({ code: 403, type: 'Forbidden', message: expect.stringContaining('Origin') });
    },
  );

  it('accepts 60 new tunnels a minute of one address', async () => {
    const opened: (WebSocket | number)[] = [];
    while (opened.length <= 60) {
      const socket = await dialFrom('192.0.2.4', `/${newId()}`);
      opened.push(socket);
      if (typeof socket === 'object') await ended(socket);
    }

    expect(opened.indexOf(429)).toBe(60);
    expect(typeof (await dialFrom('192.0.2.5', `/${newId()}`).then(closing))).toBe('object');
  });

  it('holds 20 tunnels of one address, and those of others beside them', async () => {
    const dialAgain = () => dialFrom('2001:db8::1', `/${newId()}`);
    const opened = await Promise.all(Array.from({ length: 20 + 1 }, dialAgain));

    expect(opened.filter((each) => each === 429)).toHaveLength(1);
    expect(await dialFrom('2001:db8::2', `/${newId()}`)).toBe(429);
    expect(typeof (await dialFrom('2001:db8:0:1::', `/${newId()}`).then(closing))).toBe('object');

    const [first] = opened.filter((each) => typeof each === 'object');
    await ended(first!);
    opened.push(await waitFor(dialAgain, (socket) => typeof socket === 'object'));
    opened.forEach(closing);
  });

  it('accepts 100 connections to the tunnel port of one address that is no proxy', async () => {
    const port = await freePort();
    const direct = await startServiceOn(service.databaseUrl, gateway({ tunnelPort: port }));
    const sockets = Array.from({ length: 100 + 1 }, () => connect(port, '127.0.0.1').on('error', () => {}));
    const isAnswered = () =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        ({ ok }) => ok,
        () => false,
      );

    await waitFor(() => sockets.filter(({ closed }) => closed).length === 1);
    expect(await isAnswered()).toBe(false);

    sockets.forEach((socket) => socket.destroy());
    await waitFor(isAnswered);
    await direct.stop();
  });

  it('holds 100 tunnels', async () => {
    const opened = await Promise.all(
      Array.from({ length: 100 }, (_, index) => dialFrom(`198.51.100.${index}`, `/${newId()}`)),
    );
    expect(opened.filter((each) => typeof each === 'number')).toEqual([]);

    expect(await dialFrom('192.0.2.6', `/${newId()}`)).toBe(503);

    opened.forEach(closing);
    await waitFor(
      () => metric('parley_tunnel_sockets'),
      (sockets) => sockets === 0,
    );
    expect(typeof (await dialFrom('192.0.2.6', `/${newId()}`).then(closing))).toBe('object');
  });

  it('fails the start with advice if the tunnel port is in use', async () => {
    const start = startServiceOn(service.databaseUrl, gateway({ tunnelPort }));

    await expect(start).rejects.toThrow(
      `TUNNEL_PORT: port ${tunnelPort} is in use. Set another port, or 0 to run without the tunnel for bp dev.`,
    );
  });

  it('fails the start with advice if TUNNEL_PORT is set without TUNNEL_URL', async () => {
    const port = await freePort();
    const start = startServiceOn(service.databaseUrl, gateway({ tunnelPort: port, tunnelUrl: undefined }));

    await expect(start).rejects.toThrow('TUNNEL_URL is missing: TUNNEL_PORT needs it');
  });

  it('closes tunnels with 1001 when the process stops, so that clients reconnect elsewhere', async () => {
    const port = await freePort();
    const stopping = await startServiceOn(service.databaseUrl, gateway({ tunnelPort: port }));
    const id = newId();
    let isReached = false;
    const tail = await dial(id, () => (isReached = true), port);
    const closed = closeCodeOf(tail);
    const failure = failureOf(request(id, {}, stopping));
    await waitFor(() => isReached);

    await stopping.stop();

    expect(await closed).toBe(closeCodes.goingAway);
    expect(await failure).toBe('disconnected');
    await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow('fetch failed');
  });
});

async function ended(socket: WebSocket): Promise<void> {
  socket.close();
  await once(socket, 'close');
}

function closing<T extends WebSocket | number>(socket: T): T {
  if (typeof socket === 'object') socket.close();
  return socket;
}
