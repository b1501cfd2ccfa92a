import { JetStreamEvents } from '@parley/transport/jetstream-events';
import { NatsLink } from '@parley/transport/nats-connection';
import { hasNatsServer, NatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import { DeadLettersRepository } from './dead-letters.repository';
import { Inbox } from './inbox';
import { Outbox } from './outbox';
import { OutboxRepository } from './outbox.repository';
import { Relay } from './relay';
import {
  announce,
  consumerOf,
  createOutboxDatabase,
  happened,
  numberOf,
  type OutboxDatabase,
  range,
  silent,
  unpublished,
} from './test/outbox-database';

const suite = hasNatsServer() ? describe : describe.skip;

suite('The outbox relay over JetStream', () => {
  let server: NatsServer;
  let database: OutboxDatabase;
  let link: NatsLink;
  let events: JetStreamEvents;
  let relay: Relay;

  beforeEach(async () => {
    [server, database] = await Promise.all([NatsServer.start(), createOutboxDatabase()]);
    link = await NatsLink.open(server.url, 'test', silent);
    events = new JetStreamEvents(link, 1, silent, { ackWaitMs: 30_000, heartbeatMs: 300, pullMs: 700 });
    relay = new Relay(new OutboxRepository(database.service), events, silent);
  });

  afterEach(async () => {
    await relay.stop();
    await events.drain();
    await link.close();
    await Promise.all([server.stop(), database.drop()]);
  });

  it('republishes all retained events when the server lost its disk, and consumers continue', async () => {
    const before = consumerOf('probe.record');
    await events.consume(before.consumer);
    relay.start();
    await announce(database.service, range(20));
    relay.wake();
    await waitFor(() => before.deliveries.length === 20);
    await waitFor(async () => (await unpublished(database.service)) === 0);

    await server.kill();
    await server.wipe();
    await server.run();

    await waitFor(() => before.deliveries.length >= 40);
    expect(
      before
        .numbers()
        .slice(20)
        .sort((a, b) => a - b),
    ).toEqual(range(20));
  });

  it('republishes all retained events when the server lost only the newest ones and has grown again', async () => {
    relay.start();
    await announce(database.service, [1, 2]);
    await waitFor(async () => (await unpublished(database.service)) === 0);
    await server.kill();
    await server.backUp();
    await server.run();
    await announce(database.service, [3, 4]);
    await waitFor(async () => (await unpublished(database.service)) === 0);

    await server.kill();
    await server.rollBack();
    await server.run();
    const others = range(10).map((number) => ({ id: `other-${number}`, subject: 'probe.other', data: {} }));
    await waitFor(() =>
      events.publish(others).then(
        () => true,
        () => false,
      ),
    );

    const record = consumerOf('probe.record');
    await events.consume(record.consumer);
    await waitFor(() => new Set(record.numbers()).size === 4);
  });

  it('restores exactly the effects that a restored Postgres lacks when NATS is started empty', async () => {
    const inbox = new Inbox(database.service);
    const effects: number[] = [];
    const record = consumerOf('probe.record', {
      handle: async (delivery) =>
        void (await inbox.once('probe.record', delivery.event.id, async () => void effects.push(numberOf(delivery)))),
    });
    await events.consume(record.consumer);
    relay.start();
    await announce(database.service, range(5));
    relay.wake();
    await waitFor(() => effects.length === 5);
    await waitFor(async () => (await unpublished(database.service)) === 0);
    await server.kill('SIGTERM');
    await server.wipe();

    // State before events 4 and 5 were consumed: the outbox has them as published.
    await database.service.query(
      `DELETE FROM inbox USING outbox WHERE outbox.id = inbox.event_id AND (outbox.data ->> 'number')::int > 3`,
    );
    await server.run();

    await waitFor(() => record.deliveries.length >= 10 && effects.length >= 7);
    expect(effects.slice(5).sort()).toEqual([4, 5]);
  });

  it('lets a replayed dead letter take effect once, even when the stream is lost afterwards', async () => {
    const letters = new DeadLettersRepository(database.service);
    const [inbox, outbox] = [new Inbox(database.service), new Outbox()];
    let [works, effects] = [false, 0];
    const frail = consumerOf('probe.frail', {
      maxDeliveries: 1,
      handle: async ({ event }) => {
        if (!works) throw new Error('Not yet.');
        await inbox.once('probe.frail', event.id, async () => void (effects += 1));
      },
      deadLetter: (event, attempts, reason) => letters.insertDeadLetter('probe.frail', event, attempts, reason),
    });
    await events.consume(frail.consumer);
    relay.start();
    await announce(database.service, [1]);
    relay.wake();
    await waitFor(async () => (await letters.listNewest(1)).length === 1);
    works = true;

    await letters.deleteForReplay(undefined, (tx, replayed) => outbox.repeat(tx, replayed));
    await waitFor(() => effects === 1);
    await waitFor(async () => (await unpublished(database.service)) === 0);
    await server.kill();
    await server.wipe();
    await server.run();

    // Both the event and its replay were redelivered.
    await waitFor(() => frail.deliveries.length >= 4);
    expect(new Set(frail.deliveries.map(({ event }) => event.id)).size).toBe(1);
    expect(effects).toBe(1);
  });

  it('replays all dead letters next to garbage larger than an event may be', async () => {
    const letters = new DeadLettersRepository(database.service);
    const outbox = new Outbox();
    let works = false;
    const effects: number[] = [];
    const frail = consumerOf('probe.frail', {
      maxDeliveries: 1,
      handle: async ({ event }) => {
        if (!works) throw new Error('Not yet.');
        effects.push(numberOf({ event }));
      },
      deadLetter: (event, attempts, reason) => letters.insertDeadLetter('probe.frail', event, attempts, reason),
    });
    await events.consume(frail.consumer);
    relay.start();
    // Each of these characters takes six bytes in JSON.
    link.connection.publish(`events.${happened.subject}`, Buffer.alloc(7_000_000, 0x01));
    await announce(database.service, [1]);
    relay.wake();
    await waitFor(async () => (await letters.listNewest(2)).length === 2);
    works = true;

    const count = await letters.deleteForReplay(undefined, (tx, replayed) => outbox.repeat(tx, replayed));

    expect(count).toBe(2);
    await waitFor(() => effects.includes(1));
    const [{ data }] = (await database.service.query<{ data: string }>(
      `SELECT data #>> '{}' AS data FROM outbox WHERE jsonb_typeof(data) = 'string'`,
    )) as [{ data: string }];
    expect(data).toBe(`${'\u0001'.repeat(32_000)}… [truncated: first 32000 of 7000000 characters]`);
  });

  it('keeps all events while the server is down, and publishes them when it is back', async () => {
    const record = consumerOf('probe.record');
    await events.consume(record.consumer);
    relay.start();
    await server.kill();
    await waitFor(() => !link.isUp);
    await announce(database.service, range(20));

    await expect(relay.publish()).rejects.toThrow('NATS is not connected');
    const kept = await unpublished(database.service);
    await server.run();

    await waitFor(async () => (await unpublished(database.service)) === 0);
    await waitFor(() => new Set(record.numbers()).size === 20);
    expect(kept).toBe(20);
  });
});
