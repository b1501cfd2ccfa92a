import { randomUUID } from 'node:crypto';
import { createConnection } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect, headers, type NatsConnection } from 'nats';
import { broadcast, channel } from '@parley/contracts/operation';
import { BreakableLink } from '@parley/testing/breakable-link';
import { hasNatsServer, NatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import { ParleyClient } from './parley-client';
import { NatsLink } from './nats-connection';
import { NatsDriver } from './nats-driver';
import { bodyRequest } from './subjects';
import { anHour, answerWith, Anything, caller, countStatuses, outcomeOf, probe, silent } from './test/probe';
import { transportBehaviour } from './test/transport.behaviour';
import type { Driver } from './driver';

const suite = hasNatsServer() ? describe : describe.skip;

const hasty = { fetchTimeoutMs: 4_000, questionTimeoutMs: 1_000, copyingMs: 300 };

async function openBus(options: { maxPayload?: string; timing?: typeof hasty } = {}) {
  const server = await NatsServer.start(options);
  const drivers: Driver[] = [];
  return {
    server,
    connect: async (maxBodyBytes = 64_000_000) => {
      const link = await NatsLink.open(server.url, 'test', silent);
      const driver = new NatsDriver(link, maxBodyBytes, 1, silent, options.timing);
      drivers.push(driver);
      return driver;
    },
    stop: async () => {
      await Promise.all(drivers.map((driver) => driver.close()));
      await server.stop();
    },
  };
}

suite('The driver over NATS', () => {
  transportBehaviour(openBus);
});

suite('The driver over NATS with a small message limit', () => {
  // Default message limit of the server: most large bodies pass by reference.
  transportBehaviour(() => openBus({ maxPayload: '1MB' }));
});

suite('A malformed message on NATS', () => {
  let shared: Awaited<ReturnType<typeof openBus>>;
  let service: Driver;
  let rawClient: NatsConnection;

  beforeAll(async () => {
    shared = await openBus({ timing: hasty });
    service = await shared.connect();
    rawClient = await connect({ servers: shared.server.url });
  });

  afterAll(async () => {
    await rawClient.close();
    await shared.stop();
  });

  it.each([
    ['empty', Buffer.alloc(0)],
    ['not JSON', Buffer.from('{"a":')],
    ['binary', Buffer.from([0xff, 0x00, 0xc3, 0x28, 0x80, 0x0a])],
    ['large', Buffer.alloc(4_000_000, 0xfe)],
    ['JSON without a caller', Buffer.from('{}')],
  ])('answers a malformed message that is %s with an error, and disturbs no other request', async (_what, garbage) => {
    const echo = probe();
    await answerWith(service, echo, (input) => input);

    const reply = await rawClient.request(echo.subject, garbage, { timeout: 5_000 });
    rawClient.publish(echo.subject, garbage);
    await rawClient.flush();

    const [head, body] = reply.string().split('\n');
    expect(head).toBe('error');
    expect(JSON.parse(body ?? '')).toMatchObject({ type: 'InvalidPayload', code: 400 });
    await expect(new ParleyClient(await shared.connect()).call(echo, caller, { a: 1 })).resolves.toEqual({ a: 1 });
  });

  it('answers a message with an error when it references a body that does not exist', async () => {
    const echo = probe();
    await answerWith(service, echo, (input) => input);
    const forged = headers();
    forged.set('parley-payload', `bodies.probe.${randomUUID()} 1`);

    const { value } = await outcomeOf(rawClient.request(echo.subject, '', { headers: forged, timeout: 20_000 }));

    expect(JSON.parse(value?.string().split('\n')[1] ?? '')).toMatchObject({ code: 503 });
  });

  it('answers a message with an error when its headers are malformed', async () => {
    const echo = probe();
    await answerWith(service, echo, (input) => input);
    const garbage = 'GARBAGE \r\n:::\r\nno end';
    const socket = createConnection(Number(new URL(shared.server.url).port), '127.0.0.1');
    let received = '';
    socket.on('data', (data) => (received += data.toString()));

    socket.write(
      `CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB _INBOX.inbox 1\r\nHPUB ${echo.subject} _INBOX.inbox ${garbage.length} ${garbage.length}\r\n${garbage}\r\nPING\r\n`,
    );

    await waitFor(() => received.includes('"type"') || received.includes('-ERR'));
    socket.destroy();
    await expect(new ParleyClient(await shared.connect()).call(echo, caller, { a: 1 })).resolves.toEqual({ a: 1 });
  });

  it('keeps a broadcast listener after a malformed message', async () => {
    const news = broadcast({ subject: 'probe.disturbed', data: Anything });
    const heard: unknown[] = [];
    const listening = new ParleyClient(service);
    listening.listen(news, (data) => heard.push(data));
    await listening.ready();

    for (const garbage of [Buffer.alloc(0), Buffer.from('{'), Buffer.from([0xff, 0x00])]) {
      rawClient.publish('broadcast.probe.disturbed', garbage);
    }
    rawClient.publish('broadcast.probe.disturbed', `\n${JSON.stringify({ text: 'after' })}`);

    await waitFor(() => heard.length > 0);
    expect(heard).toEqual([{ text: 'after' }]);
  });
});

suite('A body that is too large for one NATS message', () => {
  it('passes a large body by reference after the broker has lost its disk', async () => {
    const { connect, server, stop } = await openBus({ maxPayload: '1MB' });
    const echo = probe();
    const service = await connect();
    await answerWith(service, echo, (input) => input);
    const asking = await connect();
    const bus = new ParleyClient(asking);
    const large = { text: 'x'.repeat(2_000_000) };
    await bus.call(echo, caller, large);

    await server.kill();
    await server.wipe();
    await server.run();
    await waitFor(async () => (await outcomeOf(Promise.all([service.ready(), asking.ready()]))).error === undefined);
    const answer = await bus.call(echo, caller, large);

    expect(answer['text'] === large.text).toBe(true);
    await stop();
  });

  it('deletes a large body from the broker after the answer', async () => {
    const { connect: join, server, stop } = await openBus({ maxPayload: '1MB', timing: hasty });
    const echo = probe();
    await answerWith(await join(), echo, (input) => input);
    const bus = new ParleyClient(await join());

    for (let round = 0; round < 3; round += 1) await bus.call(echo, caller, { text: 'x'.repeat(2_000_000) });

    const connection = await connect({ servers: server.url });
    const { streams } = await connection.jetstreamManager();
    await waitFor(async () => (await streams.info('PARLEY_BODIES')).state.bytes < 10_000);
    await connection.close();
    await stop();
  });
});

suite('An answer that is too large for one NATS message', () => {
  const large = { text: 'x'.repeat(2_000_000) };
  const ask = probe(30_000);
  let bus: Awaited<ReturnType<typeof openBus>>;

  beforeEach(async () => (bus = await openBus({ maxPayload: '1MB', timing: hasty })));

  afterEach(() => bus.stop());

  it('delivers a large answer over a slow network', async () => {
    const link = await BreakableLink.to(bus.server.url);
    const asking = new NatsDriver(await NatsLink.open(link.url, 'test', silent), 64_000_000, 1, silent, hasty);
    await answerWith(await bus.connect(), ask, () => {
      // The round trip takes longer than the replication delay.
      link.delayMs = hasty.copyingMs / 2 + 20;
      return large;
    });

    const { value, error } = await outcomeOf(new ParleyClient(asking).call(ask, caller, {}));

    link.delayMs = 0;
    await asking.close();
    await link.stop();
    expect(error).toBeUndefined();
    expect(value?.['text'] === large.text).toBe(true);
  });

  it('returns OperationTimeout when a large answer is lost', async () => {
    const service = await connect({ servers: bus.server.url });
    const lost = headers();
    lost.set('parley-payload', `bodies.test.${randomUUID()} 1`);
    service.subscribe(ask.subject, { callback: (_error, message) => message.respond('', { headers: lost }) });
    await service.flush();

    const { error } = await outcomeOf(new ParleyClient(await bus.connect()).call(ask, caller, {}));

    await service.close();
    expect(error).toMatchObject({
      type: 'OperationTimeout',
      code: 504,
      message: expect.stringContaining('check before you try again') as string,
    });
  });
});

suite('Several bodies that are too large for one NATS message', () => {
  const large = 'x'.repeat(3_000_000);
  let bus: Awaited<ReturnType<typeof openBus>>;
  let onlooker: NatsConnection;
  /** Body of each piece that was requested. */
  let asked: string[];

  beforeAll(async () => {
    bus = await openBus({ maxPayload: '1MB' });
    onlooker = await connect({ servers: bus.server.url });
    onlooker.subscribe(bodyRequest('>'), {
      callback: (_error, { subject }) => asked.push(subject.slice(0, subject.lastIndexOf('.'))),
    });
    await onlooker.flush();
  });

  beforeEach(() => (asked = []));

  afterAll(async () => {
    await onlooker.close();
    await bus.stop();
  });

  it('rejects large bodies from the third on, without fetching them, until one of two is answered', async () => {
    const slow = probe(30_000);
    let finish: () => void = () => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    let taken = 0;
    await answerWith(await bus.connect(), slow, async () => {
      taken += 1;
      await finished;
      return {};
    });
    const asking = new ParleyClient(await bus.connect());
    const first = [1, 2].map(() => asking.call(slow, caller, { text: large }));
    await waitFor(() => taken === 2);

    const third = await outcomeOf(asking.call(slow, caller, { text: large }));
    const small = asking.call(slow, caller, {});
    finish();
    await Promise.all([...first, small]);
    await asking.call(slow, caller, { text: large });

    expect(third.error).toMatchObject({ type: 'Internal', code: 503, retryAfterSeconds: 1 });
    expect(taken).toBe(4);
    await onlooker.flush();
    expect(new Set(asked).size).toBe(3);
  });

  it('fetches large bodies two at a time when they are answers, without loss', async () => {
    const grow = probe(30_000);
    await answerWith(await bus.connect(), grow, () => ({ text: large }));
    const asking = new ParleyClient(await bus.connect());

    const answers = await Promise.all(Array.from({ length: 6 }, () => asking.call(grow, caller, {})));

    expect(answers.filter(({ text }) => text === large)).toHaveLength(6);
    await onlooker.flush();
    const spans = [...new Set(asked)].map((body) => [asked.indexOf(body), asked.lastIndexOf(body)] as const);
    const atOnce = asked.map((_, now) => spans.filter(([begin, end]) => begin <= now && now <= end).length);
    expect(spans).toHaveLength(6);
    expect(Math.max(...atOnce)).toBeLessThanOrEqual(2);
  });
});

suite('A replica that leaves', () => {
  it('loses no request under load when a replica leaves', async () => {
    const { connect, stop } = await openBus();
    const work = probe();
    const [leaving, staying] = [await connect(), await connect()];
    const served = { leaving: 0, staying: 0 };
    const handle = (who: keyof typeof served) => async () => {
      served[who] += 1;
      for (let turns = served[who] % 10; turns > 0; turns -= 1) await nextTurn();
      return { who };
    };
    await answerWith(leaving, work, handle('leaving'));
    await answerWith(staying, work, handle('staying'));
    const bus = new ParleyClient(await connect());
    const failures: unknown[] = [];
    let running = true;
    const clients = Array.from({ length: 40 }, async () => {
      while (running) await bus.call(work, caller, {}).catch((error: unknown) => failures.push(error));
    });
    await waitFor(() => served.leaving > 100 && served.staying > 100);

    await leaving.drain();
    await leaving.close();
    const before = served.staying;
    await waitFor(() => served.staying > before + 500);
    running = false;
    await Promise.all(clients);

    expect(failures).toEqual([]);
    await stop();
  });

  it('drains a replica while the server is down, and does not serve again when it is back', async () => {
    const { connect, server, stop } = await openBus();
    const ask = probe();
    const leaving = await connect();
    await answerWith(leaving, ask, () => ({}));
    const asking = await connect();
    await server.kill();

    await leaving.drain();
    await server.run();
    await waitFor(async () => (await outcomeOf(Promise.all([asking.ready(), leaving.ready()]))).error === undefined);

    await expect(new ParleyClient(asking).call(ask, caller, {})).rejects.toMatchObject({ code: 503 });
    await stop();
  });
});

suite('A NATS server that goes away', () => {
  it('closes a connection at the same moment as the server goes away', async () => {
    const server = await NatsServer.start();
    const links = await Promise.all(Array.from({ length: 10 }, () => NatsLink.open(server.url, 'test', silent)));
    links.forEach((link) => link.connection.subscribe('probe.closing'));

    await Promise.all([server.kill(), ...links.map((link) => link.close())]);

    expect(links.every((link) => link.connection.isClosed())).toBe(true);
    await server.stop();
  });

  it('makes requests fail at once, and requests work again after more than ten attempts to reconnect', async () => {
    const { connect, server, stop } = await openBus();
    const ask = probe(anHour);
    const service = await connect();
    await answerWith(service, ask, () => ({ served: true }));
    const link = await NatsLink.open(server.url, 'test', silent);
    const asking = new NatsDriver(link, 64_000_000, 1, silent);
    const statuses = countStatuses(link);
    const bus = new ParleyClient(asking);
    const news = broadcast({ subject: 'probe.back', data: Anything });
    let heard = 0;
    new ParleyClient(service).listen(news, () => (heard += 1));
    await bus.call(ask, caller, {});

    await server.kill();
    await waitFor(async () => (await outcomeOf(asking.ready())).error !== undefined);
    const away = await outcomeOf(bus.call(ask, caller, {}));
    bus.broadcast(news, {});
    await waitFor(() => statuses['reconnecting']! > 10);
    const stillAway = await outcomeOf(bus.call(ask, caller, {}));
    await server.run();
    await waitFor(async () => (await outcomeOf(Promise.all([service.ready(), asking.ready()]))).error === undefined);
    const back = await outcomeOf(bus.call(ask, caller, {}));
    bus.broadcast(news, {});

    expect(away.error).toMatchObject({ code: 503, retryAfterSeconds: 1 });
    expect(stillAway.error).toMatchObject({ code: 503 });
    expect(back.value).toEqual({ served: true });
    await waitFor(() => heard > 0);
    await asking.close();
    await stop();
  });

  it('restores channel subscriptions, and reports the reconnect when they receive again', async () => {
    const { connect, server, stop } = await openBus();
    const changes = channel({ subject: 'probe.lost', data: Anything });
    const driver = await connect();
    const bus = new ParleyClient(driver);
    const heard: unknown[] = [];
    let returns = 0;
    const { live } = bus.subscribe(changes, 'key', ({ text }) => heard.push(text));
    await live;
    bus.onReconnected(() => {
      returns += 1;
      bus.publishTo(changes, 'key', { text: `back ${returns}` });
    });

    for (const round of [1, 2]) {
      await server.kill();
      await waitFor(async () => (await outcomeOf(driver.ready())).error !== undefined);
      await expect(bus.subscribe(changes, 'too-late', () => undefined).live).rejects.toThrow(/not connected/);
      bus.publishTo(changes, 'key', { text: 'lost' });
      await server.run();
      await waitFor(() => heard.length === round);
    }

    expect(heard).toEqual(['back 1', 'back 2']);
    expect(returns).toBe(2);
    await stop();
  });

  it('fails a pending request with OperationTimeout long before its deadline', async () => {
    const { connect, server, stop } = await openBus();
    const never = probe(anHour);
    let taken = false;
    await answerWith(await connect(), never, () => {
      taken = true;
      return new Promise(() => undefined);
    });
    const bus = new ParleyClient(await connect());

    const asked = outcomeOf(bus.call(never, caller, {}));
    await waitFor(() => taken);
    await server.kill();
    const { error } = await asked;

    expect(error).toMatchObject({ type: 'OperationTimeout', code: 504 });
    await stop();
  });

  it('fails a request with 503 when its large body was not yet stored', async () => {
    const { connect, server, stop } = await openBus({ maxPayload: '1MB' });
    const ask = probe(anHour);
    let served = 0;
    await answerWith(await connect(), ask, () => void (served += 1));
    const bus = new ParleyClient(await connect());

    const asked = outcomeOf(bus.call(ask, caller, { text: 'x'.repeat(60_000_000) }));
    await nextTurn();
    await server.kill();
    const { error } = await asked;

    expect(error).toMatchObject({ code: 503 });
    expect(served).toBe(0);
    await stop();
  });
});
