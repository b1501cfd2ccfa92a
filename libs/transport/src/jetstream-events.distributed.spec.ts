import { connect } from 'nats';
import { retryBackoffMs } from '@parley/background/retry-backoff';
import { hasNatsServer, NatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import type { Delivery, EventMessage, WorkingConsumer } from './event-stream';
import { JetStreamEvents } from './jetstream-events';
import { NatsLink } from './nats-connection';
import { outcomeOf, silent } from './test/probe';

const suite = hasNatsServer() ? describe : describe.skip;
/** Timing long enough that a busy machine causes no redelivery. */
const patient = { ackWaitMs: 30_000, heartbeatMs: 150, pullMs: 700 };
const impatient = { ...patient, ackWaitMs: 1_500 };

let server: NatsServer;
let links: NatsLink[] = [];
let streams: JetStreamEvents[] = [];
let subjects = 0;

async function join(options = patient): Promise<{ events: JetStreamEvents; link: NatsLink }> {
  const link = await NatsLink.open(server.url, 'test', silent);
  const events = new JetStreamEvents(link, 1, silent, options);
  links.push(link);
  streams.push(events);
  return { events, link };
}

async function raw<T>(work: (connection: Awaited<ReturnType<typeof connect>>) => Promise<T>): Promise<T> {
  const connection = await connect({ servers: server.url });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** Consumer with a unique subject that records its deliveries. */
function consumerOf(subject: string, options: Partial<WorkingConsumer> = {}) {
  const deliveries: Delivery[] = [];
  const deadLetters: { event: EventMessage; attempts: number; reason: string }[] = [];
  const consumer: WorkingConsumer = {
    name: `${subject}.consumer`,
    subject,
    concurrency: 1,
    maxDeliveries: 10,
    deadLetter: async (event, attempts, reason) => void deadLetters.push({ event, attempts, reason }),
    ...options,
    handle: async (delivery) => {
      deliveries.push(delivery);
      await options.handle?.(delivery);
    },
  };
  return { consumer, deliveries, deadLetters, ids: () => deliveries.map(({ event }) => event.id) };
}

function durableOf({ consumer }: { consumer: WorkingConsumer }): string {
  return consumer.name.replaceAll('.', '-');
}

async function acksOf(name: string): Promise<string[]> {
  const acks: string[] = [];
  const { connection } = (await join()).link;
  connection.subscribe(`$JS.ACK.PARLEY.${name.replaceAll('.', '-')}.>`, {
    callback: (_error, message) => acks.push(message.string()),
  });
  await connection.flush();
  return acks;
}

function newSubject(): string {
  subjects += 1;
  return `probe.happened${subjects}`;
}

function eventsOf(subject: string, count: number, first = 1): EventMessage[] {
  return Array.from({ length: count }, (_, index) => ({ id: `${subject}-${first + index}`, subject, data: { index } }));
}

async function leave(): Promise<void> {
  await Promise.all(streams.map((events) => events.drain()));
  await Promise.all(links.map((link) => link.close()));
  streams = [];
  links = [];
}

suite('Events over JetStream', () => {
  beforeAll(async () => {
    server = await NatsServer.start();
  });

  afterEach(leave);

  afterAll(() => server.stop());

  it('delivers events to each consumer once, whichever process of it takes them', async () => {
    const subject = newSubject();
    const [here, there, publisher] = [await join(), await join(), await join()];
    const first = consumerOf(subject, { name: `${subject}.first`, concurrency: 2 });
    const second = consumerOf(subject, { name: `${subject}.second` });
    await here.events.consume(first.consumer);
    await there.events.consume(first.consumer);
    await there.events.consume(second.consumer);
    const events = eventsOf(subject, 50);

    await publisher.events.publish(events);

    await waitFor(() => first.deliveries.length >= 50 && second.deliveries.length >= 50);
    expect(first.ids().sort()).toEqual(events.map(({ id }) => id).sort());
    expect(second.ids().sort()).toEqual(events.map(({ id }) => id).sort());
    expect(first.deliveries.every(({ attempt }) => attempt === 1)).toBe(true);
  });

  it('keeps events for a consumer that is registered later', async () => {
    const subject = newSubject();
    const { events } = await join();
    await events.publish(eventsOf(subject, 3));
    const late = consumerOf(subject);

    await events.consume(late.consumer);

    await waitFor(() => late.deliveries.length === 3);
    expect(late.deliveries[0]!.event).toEqual({ id: `${subject}-1`, subject, data: { index: 0 } });
  });

  it('knows that a process waits for the events of a consumer or works on one, until it has left', async () => {
    const subject = newSubject();
    let finish: () => void = () => undefined;
    const busy = consumerOf(subject, { handle: () => new Promise((resolve) => (finish = resolve)) });
    const [{ events }, reader] = [await join(), await join()];
    expect(await events.isConsumed(busy.consumer)).toBe(false);

    await reader.events.consume(busy.consumer);
    expect(await events.isConsumed(busy.consumer)).toBe(true);
    await events.publish(eventsOf(subject, 1));
    await waitFor(() => busy.deliveries.length === 1);
    expect(await events.isConsumed(busy.consumer)).toBe(true);
    finish();
    await reader.events.drain();
    await reader.link.close();

    expect(await events.isConsumed(busy.consumer)).toBe(false);
  });

  it('passes the trace context of their publisher with events', async () => {
    const subject = newSubject();
    const { events } = await join();
    const traced = consumerOf(subject);
    await events.consume(traced.consumer);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

    await events.publish(eventsOf(subject, 1).map((event) => ({ ...event, traceparent })));

    await waitFor(() => traced.deliveries.length === 1);
    expect(traced.deliveries[0]!.event.traceparent).toBe(traceparent);
  });

  it('delivers events once when published twice', async () => {
    const subject = newSubject();
    const { events } = await join();
    const once = consumerOf(subject);
    await events.consume(once.consumer);

    await events.publish(eventsOf(subject, 5));
    await events.publish(eventsOf(subject, 6));

    await waitFor(() => once.ids().includes(`${subject}-6`));
    expect(once.ids()).toHaveLength(6);
  });

  it('replays events at once, to one consumer only', async () => {
    const subject = newSubject();
    const { events } = await join();
    const first = consumerOf(subject, { name: `${subject}.first` });
    const second = consumerOf(subject, { name: `${subject}.second` });
    await events.consume(first.consumer);
    await events.consume(second.consumer);
    const [event, next] = eventsOf(subject, 2);
    await events.publish([event!]);
    const againTo = (message: EventMessage, messageId: string) => ({
      ...message,
      again: { consumer: first.consumer.name, messageId },
    });

    await events.publish([againTo(event!, `${subject}-again`)]);
    await events.publish([againTo(event!, `${subject}-again`)]);
    await events.publish([againTo(next!, `${subject}-last`)]);
    await events.publish([next!]);

    // Events and repeats are two queues: order holds within each only.
    await waitFor(() => first.deliveries.length === 4 && second.deliveries.length === 2);
    expect(first.ids().sort()).toEqual([event, event, next, next].map((message) => message!.id));
    expect(second.deliveries.map((delivery) => delivery.event)).toEqual([event, next]);
  });

  it('redelivers events later after an error, without delaying others', async () => {
    const subject = newSubject();
    const { events } = await join();
    const acks = await acksOf(`${subject}.consumer`);
    const flaky = consumerOf(subject, {
      handle: async ({ event, attempt }) => {
        if (event.id === `${subject}-1` && attempt === 1) throw new Error('not yet');
      },
    });
    await events.consume(flaky.consumer);

    await events.publish(eventsOf(subject, 4));

    await waitFor(() => flaky.deliveries.length === 5);
    expect(flaky.ids().slice(0, 2)).toEqual([`${subject}-1`, `${subject}-2`]);
    expect(flaky.ids().sort()).toEqual([1, 1, 2, 3, 4].map((number) => `${subject}-${number}`));
    const delayNs = retryBackoffMs(1) * 1_000_000;
    expect(acks.filter((ack) => ack.startsWith('-NAK'))).toEqual([`-NAK ${JSON.stringify({ delay: delayNs })}`]);
    expect(flaky.deadLetters).toEqual([]);
  });

  it('turns events into dead letters with the reason after the last delivery', async () => {
    const subject = newSubject();
    const { events } = await join();
    const broken = consumerOf(subject, {
      maxDeliveries: 2,
      handle: () => Promise.reject(new Error('It does not work.')),
    });
    await events.consume(broken.consumer);
    const [event] = eventsOf(subject, 1);

    await events.publish([event!]);

    await waitFor(() => broken.deadLetters.length === 1);
    const isSettled = () =>
      raw(async (connection) => {
        const { consumers } = await connection.jetstreamManager();
        const { num_ack_pending, num_pending } = await consumers.info('PARLEY', durableOf(broken));
        return num_ack_pending + num_pending === 0;
      });
    await waitFor(isSettled);
    expect(broken.deliveries.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(broken.deadLetters).toEqual([{ event, attempts: 2, reason: 'It does not work.' }]);
  });

  it('redelivers events when storing the dead letter fails', async () => {
    const subject = newSubject();
    const { events } = await join(impatient);
    let graves = 0;
    const broken = consumerOf(subject, {
      maxDeliveries: 1,
      handle: () => Promise.reject(new Error('It does not work.')),
      deadLetter: async () => {
        graves += 1;
        if (graves === 1) throw new Error('The database does not answer.');
      },
    });
    await events.consume(broken.consumer);

    await events.publish(eventsOf(subject, 1));

    await waitFor(() => graves === 2);
    expect(broken.deliveries).toHaveLength(1);
  });

  it('does not redeliver events while a handler still works on them', async () => {
    const subject = newSubject();
    const [here, there] = [await join(impatient), await join(impatient)];
    const acks = await acksOf(`${subject}.consumer`);
    const longerThanAckWait = Math.ceil(impatient.ackWaitMs / impatient.heartbeatMs) + 2;
    let ended = 0;
    const slow = consumerOf(subject, {
      handle: async () => {
        await waitFor(() => acks.filter((ack) => ack === '+WPI').length > longerThanAckWait);
        ended += 1;
      },
    });
    await here.events.consume(slow.consumer);
    await there.events.consume(slow.consumer);

    await here.events.publish(eventsOf(subject, 1));

    await waitFor(() => ended > 0);
    expect(slow.deliveries).toHaveLength(1);
  });

  it('moves events to another process when the first one stops sending heartbeats', async () => {
    const subject = newSubject();
    const [dying, living] = [await join(impatient), await join(impatient)];
    let release = () => {};
    const never = consumerOf(subject, { handle: () => new Promise((resolve) => (release = resolve)) });
    await dying.events.consume(never.consumer);
    await living.events.publish(eventsOf(subject, 1));
    await waitFor(() => never.deliveries.length === 1);

    await dying.link.connection.close();
    const heir = consumerOf(subject);
    await living.events.consume(heir.consumer);

    await waitFor(() => heir.deliveries.length === 1);
    expect(heir.deliveries[0]).toMatchObject({ attempt: 2, event: { id: `${subject}-1` } });
    release();
  });

  it('returns events at once when a process stops', async () => {
    const subject = newSubject();
    const [leaving, staying] = [await join(), await join()];
    const interrupted = consumerOf(subject, {
      handle: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
    });
    await leaving.events.consume(interrupted.consumer);
    await leaving.events.publish(eventsOf(subject, 1));
    await waitFor(() => interrupted.deliveries.length === 1);
    const heir = consumerOf(subject);
    await staying.events.consume(heir.consumer);

    await leaving.events.drain();
    await leaving.link.connection.flush();

    await waitFor(() => heir.deliveries.length === 1);
    expect(heir.ids()).toEqual([`${subject}-1`]);
    expect(interrupted.deadLetters).toEqual([]);
  });

  it('turns malformed events into dead letters, and handles the next ones', async () => {
    const subject = newSubject();
    const { events } = await join();
    const careful = consumerOf(subject);
    await events.consume(careful.consumer);

    await raw(async (connection) => {
      connection.publish(`events.${subject}`, Buffer.from('{"a":'));
      connection.publish(`events.${subject}`, Buffer.from([0xff, 0x00, 0xc3]));
      connection.publish(`events.${subject}`, Buffer.alloc(0));
      await connection.flush();
    });
    await events.publish(eventsOf(subject, 1));

    await waitFor(() => careful.deliveries.length === 1 && careful.deadLetters.length === 3);
    expect(careful.ids()).toEqual([`${subject}-1`]);
    expect(careful.deadLetters[0]).toMatchObject({
      event: { subject, data: '{"a":' },
      attempts: 1,
      reason: 'The event is not valid JSON.',
    });
    expect(new Set(careful.deadLetters.map(({ event }) => event.id)).size).toBe(3);
  });

  it('continues to deliver events after their consumer was deleted', async () => {
    const subject = newSubject();
    const { events } = await join();
    const tough = consumerOf(subject);
    await events.consume(tough.consumer);
    await events.publish(eventsOf(subject, 1));
    await waitFor(() => tough.deliveries.length === 1);

    await raw(async (connection) => {
      const { consumers } = await connection.jetstreamManager();
      await consumers.delete('PARLEY', durableOf(tough));
    });
    await events.publish(eventsOf(subject, 1, 2));

    await waitFor(() => tough.ids().includes(`${subject}-2`));
  });

  it('replaces a consumer whose folder the server has lost, and delivers its events again', async () => {
    const subject = newSubject();
    const [running, starting] = [await join(), await join()];
    const tough = consumerOf(subject);
    await running.events.consume(tough.consumer);
    await running.events.publish(eventsOf(subject, 1));
    await waitFor(() => tough.deliveries.length === 1);

    await server.damageConsumer('PARLEY', durableOf(tough));
    await starting.events.consume(tough.consumer);
    await running.events.publish(eventsOf(subject, 1, 2));

    await waitFor(() => tough.deliveries.length === 3);
    expect(tough.ids().sort()).toEqual([`${subject}-1`, `${subject}-1`, `${subject}-2`]);
  });

  it('continues to deliver events after their stream was deleted', async () => {
    const subject = newSubject();
    const { events } = await join();
    const tough = consumerOf(subject);
    await events.consume(tough.consumer);
    await events.publish(eventsOf(subject, 1));
    await waitFor(() => tough.deliveries.length === 1);

    await raw(async (connection) => (await connection.jetstreamManager()).streams.delete('PARLEY'));
    await events.publish(eventsOf(subject, 1, 2));

    await waitFor(() => tough.ids().includes(`${subject}-2`));
  });

  it('reports events as kept while stored and after their retention', async () => {
    const subject = newSubject();
    const { events } = await join();
    const first = await events.publish(eventsOf(subject, 5));
    const second = await events.publish(eventsOf(subject, 5, 6));
    const known = await events.publish(eventsOf(subject, 1));

    const kept = [await events.keeps(first!), await events.keeps(second!), await events.keeps(known!)];
    await raw(async (connection) => {
      const { streams } = await connection.jetstreamManager();
      await streams.purge('PARLEY', { seq: second!.sequence });
    });

    expect(second!.sequence).toBe(first!.sequence + 5);
    expect(kept).toEqual([true, true, true]);
    await expect(events.keeps(first!)).resolves.toBe(true);
    await expect(events.keeps(second!)).resolves.toBe(true);
  });

  it('reports events as lost by a stream that lost them, even after it has grown as long again', async () => {
    const subject = newSubject();
    const { events } = await join();
    const place = await events.publish(eventsOf(subject, 3));

    await raw(async (connection) => (await connection.jetstreamManager()).streams.delete('PARLEY'));
    const deleted = await events.keeps(place!);
    await events.publish(eventsOf(subject, 1, 10));
    const shorter = await events.keeps(place!);
    await events.publish(eventsOf(subject, place!.sequence + 5, 11));
    const longer = await events.keeps(place!);

    expect([deleted, shorter, longer]).toEqual([false, false, false]);
  });

  it('reports events neither as kept nor as lost while the server is unreachable', async () => {
    const subject = newSubject();
    const { events } = await join();
    const place = await events.publish(eventsOf(subject, 1));

    await server.kill();
    const asked = events.keeps(place!);

    await expect(asked).rejects.toThrow();
    await server.run();
    await waitFor(async () => (await outcomeOf(events.keeps(place!))).value === true);
  });

  it('continues to deliver events when the server returns with an empty disk', async () => {
    const subject = newSubject();
    const { events, link } = await join();
    const tough = consumerOf(subject);
    await events.consume(tough.consumer);
    await events.publish(eventsOf(subject, 1));
    await waitFor(() => tough.deliveries.length === 1);

    await server.kill();
    await waitFor(() => !link.isUp);
    const away = await outcomeOf(events.publish(eventsOf(subject, 1, 2)));
    await server.wipe();
    await server.run();
    await waitFor(async () => (await outcomeOf(events.publish(eventsOf(subject, 1, 2)))).error === undefined);

    await waitFor(() => tough.ids().includes(`${subject}-2`));
    expect(away.error).toEqual(new Error('NATS is not connected.'));
  });

  it('continues to deliver events as soon as the server is back after it missed an acknowledgement', async () => {
    const subject = newSubject();
    const { events, link } = await join();
    let finish: (() => void) | undefined;
    const busy = consumerOf(subject, {
      handle: () => (finish ? Promise.resolve() : new Promise<void>((resolve) => (finish = resolve))),
    });
    await events.consume(busy.consumer);
    await events.publish(eventsOf(subject, 1));
    await waitFor(() => finish !== undefined);

    await server.kill();
    await waitFor(() => !link.isUp);
    finish!();
    await server.run();
    await waitFor(() => link.isUp);
    await events.publish(eventsOf(subject, 1, 2));

    await waitFor(() => busy.ids().includes(`${subject}-2`));
  });

  it('fails to publish events at once when the server dies before it confirms them', async () => {
    const subject = newSubject();
    const { events, link } = await join();

    const publishing = outcomeOf(events.publish(eventsOf(subject, 500)));
    await server.kill();
    const { error } = await publishing;
    await server.run();
    await waitFor(() => link.isUp);

    // A missing confirmation would be reported as a timeout instead.
    expect(error).toEqual(new Error('The connection to NATS was lost.'));
  });

  it('delivers unhandled events after a kill of the server', async () => {
    const subject = newSubject();
    const { events, link } = await join();
    await events.publish(eventsOf(subject, 20));

    await server.kill();
    await waitFor(() => !link.isUp);
    await server.run();
    await waitFor(() => link.isUp);
    const late = consumerOf(subject);
    await events.consume(late.consumer);

    await waitFor(() => new Set(late.ids()).size === 20);
  });
});
