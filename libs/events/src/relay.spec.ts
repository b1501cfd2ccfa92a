import { type Delivery, type EventMessage, messageIdOf, type StreamPosition } from '@parley/transport/event-stream';
import { newId } from '@parley/persistence/ids';
import { waitFor } from '@parley/testing/wait-for';
import { Inbox } from './inbox';
import { Outbox } from './outbox';
import { OutboxRepository } from './outbox.repository';
import { PostgresEvents } from './postgres-events';
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

/** Embedded event stream with injected faults: slow answers, a failure after publishing, a lost disk. */
class FragileEvents extends PostgresEvents {
  override readonly canLose = true;
  readonly sent: EventMessage[] = [];
  stored: string[] = [];
  afterPublish: () => Promise<void> = () => Promise.resolve();
  /** Delays a result that is already computed. */
  afterKeeps: () => Promise<void> = () => Promise.resolve();

  override async publish(events: EventMessage[]): Promise<StreamPosition> {
    await super.publish(events);
    this.sent.push(...events);
    this.stored.push(...events.map(messageIdOf));
    const place = { sequence: this.stored.length, messageId: this.stored.at(-1)! };
    await this.afterPublish();
    return place;
  }

  override async keeps({ sequence, messageId }: StreamPosition): Promise<boolean> {
    const isKept = this.stored[sequence - 1] === messageId;
    await this.afterKeeps();
    return isKept;
  }
}

/** Blocks the first caller until it is released, and no other. */
function holdOnce() {
  let [reach, release] = [() => {}, () => {}];
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  let isFirst = true;
  const pass = async () => {
    if (!isFirst) return;
    isFirst = false;
    reach();
    await released;
  };
  return { pass, reached, release: () => release() };
}

describe('The outbox relay', () => {
  let database: OutboxDatabase;
  let events: FragileEvents;
  let relays: Relay[];
  let relay: Relay;

  beforeEach(async () => {
    database = await createOutboxDatabase();
    events = new FragileEvents(database.events, silent);
    relays = [];
    relay = newRelay();
  });

  afterEach(async () => {
    await Promise.all(relays.map((running) => running.stop()));
    await events.drain();
    await database.drop();
  });

  function newRelay(): Relay {
    const another = new Relay(new OutboxRepository(database.service), events, silent);
    relays.push(another);
    return another;
  }

  async function connections(condition: string): Promise<number> {
    const rows = await database.service.query(
      `SELECT 1 FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'parley-probe' AND ${condition}`,
    );
    return rows.length;
  }

  /** Numbers in ascending order: events of one transaction have no order. */
  function sentNumbers(): number[] {
    return events.sent.map((event) => numberOf({ event })).sort((a, b) => a - b);
  }

  it('publishes unpublished rows and marks them, in batches', async () => {
    await events.open();
    await announce(database.service, range(450));

    const more = [await relay.publish(), await relay.publish(), await relay.publish(), await relay.publish()];

    expect(more).toEqual([true, true, false, false]);
    expect(sentNumbers()).toEqual(range(450));
    await expect(unpublished(database.service)).resolves.toBe(0);
  });

  it('does not publish rows that were rolled back', async () => {
    await events.open();
    const failed = database.service.transaction(async (tx) => {
      await new Outbox().add(tx, happened, { number: 1 });
      throw new Error('No.');
    });
    await expect(failed).rejects.toThrow('No.');

    await relay.publish();

    expect(events.sent).toEqual([]);
  });

  it('wakes the relay by a commit and not by a rollback', async () => {
    const outbox = new Outbox();
    let woken = 0;
    outbox.onCommit(() => (woken += 1));

    await database.service.transaction((tx) => outbox.add(tx, happened, { number: 1 }));
    await database.service
      .transaction(async (tx) => {
        await outbox.add(tx, happened, { number: 2 });
        throw new Error('No.');
      })
      .catch(() => undefined);

    expect(woken).toBe(1);
  });

  it('delivers every event, and its effect once, with two relays at work', async () => {
    const inbox = new Inbox(database.service);
    await database.service.query('CREATE TABLE effect (number integer)');
    const counting = consumerOf('probe.count', {
      concurrency: 3,
      handle: async (delivery) => {
        await inbox.once('probe.count', delivery.event.id, async (tx) => {
          await tx.query('INSERT INTO effect VALUES ($1)', [numberOf(delivery)]);
        });
      },
    });
    await events.consume(counting.consumer);
    await events.open();
    const second = newRelay();
    relay.start();
    second.start();

    for (const first of [0, 100, 200, 300, 400]) {
      await announce(
        database.service,
        range(100).map((number) => first + number),
      );
      relay.wake();
      second.wake();
    }

    await waitFor(async () => (await database.service.query('SELECT 1 FROM effect')).length >= 500, Boolean, 60_000);
    const effects = await database.service.query<{ number: number }>('SELECT number FROM effect ORDER BY number');
    expect(effects.map(({ number }) => number)).toEqual(range(500));
  });

  it('publishes an event again that it could not mark', async () => {
    await events.open();
    await announce(database.service, range(3));
    events.afterPublish = async () => {
      events.afterPublish = () => Promise.resolve();
      await database.events.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'parley-probe' AND state = 'idle in transaction'`,
      );
    };

    const failed = relay.publish();
    await expect(failed).rejects.toMatchObject({ code: 503 });
    const left = await unpublished(database.service);
    await relay.publish();

    expect(left).toBe(3);
    expect(sentNumbers()).toEqual([1, 1, 2, 2, 3, 3]);
    await expect(unpublished(database.service)).resolves.toBe(0);
  });

  it('publishes an earlier id that was committed after a later one', async () => {
    await events.open();
    let commit = () => {};
    const slow = database.service.transaction(async (tx) => {
      await new Outbox().add(tx, happened, { number: 1 });
      await new Promise<void>((resolve) => (commit = resolve));
    });
    await waitFor(async () => (await connections(`state = 'idle in transaction'`)) === 1);
    await announce(database.service, [2]);
    await relay.publish();

    commit();
    await slow;
    await relay.publish();

    expect(events.sent.map((event) => numberOf({ event }))).toEqual([2, 1]);
    expect(events.sent[1]!.id < events.sent[0]!.id).toBe(true);
  });

  it('keeps events without logging while the stream is not open, and publishes them afterwards', async () => {
    await announce(database.service, range(5));

    await expect(relay.publish()).resolves.toBe(false);
    const kept = await unpublished(database.service);
    await events.open();
    relay.start();

    await waitFor(async () => (await unpublished(database.service)) === 0);
    expect(kept).toBe(5);
    expect(sentNumbers()).toEqual(range(5));
  });

  it('rejects an event that would block all later ones', async () => {
    const huge = { number: 1, text: 'x'.repeat(300_000) };

    const refused = database.service.transaction((tx) => new Outbox().add(tx, happened, huge));

    await expect(refused).rejects.toThrow('Event probe.happened exceeds');
  });

  it('republishes and deletes more rows than one statement may change', async () => {
    const outbox = new OutboxRepository(database.service);
    const fill = `SELECT 'event_' || number, 'probe.happened', '{}', now() - interval '73 hours' FROM generate_series(1, 20001) AS number`;
    await database.service.query(`INSERT INTO outbox (id, subject, data, published_at) ${fill}`);

    const again = await database.service.transaction((tx) => outbox.markAllUnpublished(tx));
    const waiting = await unpublished(database.service);
    await database.service.query(`UPDATE outbox SET published_at = created_at - interval '73 hours'`);
    await outbox.deletePublished(72);

    expect([again, waiting]).toEqual([20_001, 20_001]);
    await expect(database.service.query('SELECT id FROM outbox')).resolves.toEqual([]);
  });

  it.each<[string, (stored: string[]) => string[]]>([
    ['was made anew', () => []],
    ['was made anew and has grown beyond the old one', () => ['a', 'b', 'c', 'd', 'e']],
    ['lost its end', (stored) => stored.slice(0, -1)],
    ['lost its end and has grown again', (stored) => [...stored.slice(0, -1), 'a', 'b']],
  ])('republishes all retained events when the stream %s', async (_what, lose) => {
    await events.open();
    await announce(database.service, range(3));
    await relay.publish();

    events.stored = lose(events.stored);
    await relay.watch();
    const again = await unpublished(database.service);
    await relay.publish();
    await relay.watch();

    expect(again).toBe(3);
    expect(events.sent).toHaveLength(6);
    await expect(unpublished(database.service)).resolves.toBe(0);
  });

  it('republishes all retained events when it detects the loss while publishing', async () => {
    await events.open();
    await announce(database.service, range(3));
    await relay.publish();
    events.stored = ['a', 'b'];
    await announce(database.service, [4, 5]);

    await relay.publish();
    const unmarked = await unpublished(database.service);
    await relay.watch();
    await relay.publish();

    expect(unmarked).toBe(2);
    expect(sentNumbers()).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
    await expect(unpublished(database.service)).resolves.toBe(0);
  });

  it('republishes nothing while the stream grows, or before the first event', async () => {
    await events.open();
    await relay.watch();
    await announce(database.service, range(3));
    await relay.publish();

    events.stored.push('a', 'b');
    await relay.watch();
    await newRelay().watch();

    await expect(unpublished(database.service)).resolves.toBe(0);
  });

  it('detects the loss of the very last event, even when the relay that published it was the first to mark', async () => {
    await events.open();
    await announce(database.service, [1]);
    await relay.publish();
    await announce(database.service, [2]);
    const held = holdOnce();
    events.afterKeeps = held.pass;
    const slow = newRelay().publish();
    await held.reached;
    await announce(database.service, [3]);
    await relay.publish();
    held.release();
    await slow;

    events.stored = events.stored.slice(0, -1);
    await relay.watch();

    await expect(unpublished(database.service)).resolves.toBe(3);
  });

  it('republishes once, not twice, when two relays detect the loss', async () => {
    await events.open();
    await announce(database.service, range(3));
    await relay.publish();
    events.stored = [];
    const held = holdOnce();
    events.afterKeeps = held.pass;
    const late = newRelay().watch();
    await held.reached;
    await relay.watch();
    await relay.publish();

    held.release();
    await late;

    await expect(unpublished(database.service)).resolves.toBe(0);
    expect(events.sent).toHaveLength(6);
  });

  it('republishes events that it marks only after another relay has detected the loss', async () => {
    await events.open();
    await announce(database.service, range(3));
    await relay.publish();
    await announce(database.service, [4]);
    const held = holdOnce();
    events.afterKeeps = held.pass;
    const publishing = relay.publish();
    await held.reached;

    events.stored = [];
    let hasLooked = false;
    const watching = newRelay()
      .watch()
      .finally(() => (hasLooked = true));
    await waitFor(async () => hasLooked || (await connections(`wait_event_type = 'Lock'`)) > 0);
    held.release();
    await Promise.all([publishing, watching]);

    await expect(unpublished(database.service)).resolves.toBe(4);
  });
});

describe('The inbox', () => {
  let database: OutboxDatabase;
  let inbox: Inbox;

  beforeAll(async () => {
    database = await createOutboxDatabase();
    inbox = new Inbox(database.service);
    await database.service.query('CREATE TABLE effect (number integer)');
  });

  beforeEach(() => database.service.query('DELETE FROM effect'));

  afterAll(() => database.drop());

  async function act(consumer: string, eventId: string): Promise<boolean> {
    return inbox.once(consumer, eventId, async (tx) => void (await tx.query('INSERT INTO effect VALUES (1)')));
  }

  it('lets an event take effect once for each consumer', async () => {
    const eventId = newId('outbox');

    const outcomes = [await act('first', eventId), await act('first', eventId), await act('second', eventId)];

    expect(outcomes).toEqual([true, false, true]);
    await expect(database.service.query('SELECT * FROM effect')).resolves.toHaveLength(2);
  });

  it('lets an event take effect once when it arrives five times at once', async () => {
    const eventId = newId('outbox');

    const outcomes = await Promise.all(range(5).map(() => act('first', eventId)));

    expect(outcomes.filter(Boolean)).toHaveLength(1);
    await expect(database.service.query('SELECT * FROM effect')).resolves.toHaveLength(1);
  });

  it('retains an event from its last arrival on, not from its first', async () => {
    const eventId = newId('outbox');
    await act('first', eventId);
    await database.service.query(`UPDATE inbox SET received_at = now() - interval '100 hours'`);

    await act('first', eventId);
    await new OutboxRepository(database.service).deleteReceived(50);

    await expect(act('first', eventId)).resolves.toBe(false);
  });

  it('forgets an event whose effect threw', async () => {
    const eventId = newId('outbox');
    const failed = inbox.once('first', eventId, async (tx) => {
      await tx.query('INSERT INTO effect VALUES (1)');
      throw new Error('No.');
    });
    await expect(failed).rejects.toThrow('No.');

    await expect(act('first', eventId)).resolves.toBe(true);
    await expect(database.service.query('SELECT * FROM effect')).resolves.toHaveLength(1);
  });
});

describe('The outbox relay beside the embedded event stream', () => {
  let database: OutboxDatabase;
  let events: PostgresEvents;
  let relay: Relay;

  beforeEach(async () => {
    database = await createOutboxDatabase();
    events = new PostgresEvents(database.events, silent);
    relay = new Relay(new OutboxRepository(database.service), events, silent);
  });

  afterEach(async () => {
    await relay.stop();
    await events.drain();
    await database.drop();
  });

  const queued = () => database.events.query<{ state: string }>('SELECT state FROM work ORDER BY id');
  const untilAborted = ({ signal }: Delivery) =>
    new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));

  it('moves events to each consumer in batches, more than it has places, and marks those without a consumer', async () => {
    const consumers = [
      consumerOf('probe.one', { concurrency: 2 }),
      consumerOf('another.two'),
      consumerOf('probe.other', { subject: 'probe.other' }),
    ];
    for (const { consumer } of consumers) await events.consume(consumer);
    await events.open();
    await announce(database.service, range(450));
    await database.service.query(`INSERT INTO outbox (id, subject, data) VALUES ('event', 'probe.unheard', '{}')`);

    const more = [await relay.publish(), await relay.publish(), await relay.publish(), await relay.publish()];

    expect(more).toEqual([true, true, false, false]);
    await expect(unpublished(database.service)).resolves.toBe(0);
    await waitFor(queued, (rows) => rows.length === 0);
    const [one, two, other] = consumers.map(({ numbers }) => numbers().sort((a, b) => a - b));
    expect([one, two, other]).toEqual([range(450), range(450), []]);
  });

  it('claims the events that it moves, up to the places of their consumer', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const slow = consumerOf('probe.slow', { concurrency: 2, handle: () => released });
    await events.consume(slow.consumer);
    await events.open();
    // The first round of the worker finds nothing.
    await announce(database.service, [1]);
    await relay.publish();
    await waitFor(() => slow.deliveries.length === 1);

    await announce(database.service, [2, 3, 4]);
    await relay.publish();

    expect(slow.numbers()).toHaveLength(2);
    expect((await queued()).map(({ state }) => state).sort()).toEqual(['ready', 'ready', 'running', 'running']);
    release();
    await waitFor(queued, (rows) => rows.length === 0);
    expect(slow.numbers().sort()).toEqual([1, 2, 3, 4]);
    expect(slow.deliveries.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1]);
  });

  it('loses no event that was moved by a process that died, and counts its attempt', async () => {
    const dying = new PostgresEvents(database.events, silent);
    const first = consumerOf('probe.heir', { concurrency: 2, handle: untilAborted });
    await dying.consume(first.consumer);
    await dying.open();
    const itsRelay = new Relay(new OutboxRepository(database.service), dying, silent);
    await announce(database.service, range(3));
    await itsRelay.publish();
    await waitFor(() => first.deliveries.length === 2);

    const heir = consumerOf('probe.heir');
    await events.consume(heir.consumer);
    await events.open();

    await waitFor(() => new Set(heir.numbers()).size === 3);
    await dying.drain();
    expect(heir.deliveries.map(({ attempt }) => attempt).sort()).toEqual([1, 2, 2]);
  });

  it('gives events back that it moves while the stream stops', async () => {
    const stopping = new PostgresEvents(database.events, silent);
    const interrupted = consumerOf('probe.late', { concurrency: 2 });
    await stopping.consume(interrupted.consumer);
    await stopping.open();
    await announce(database.service, range(3));
    const moved = new Relay(new OutboxRepository(database.service), stopping, silent).publish();
    await stopping.drain();
    await moved;

    const heir = consumerOf('probe.late');
    await events.consume(heir.consumer);
    await events.open();

    await waitFor(queued, (rows) => rows.length === 0);
    expect(new Set([...interrupted.numbers(), ...heir.numbers()])).toEqual(new Set(range(3)));
  });

  it('publishes replays beside new events', async () => {
    const [one, two] = [consumerOf('probe.one'), consumerOf('probe.two')];
    for (const { consumer } of [one, two]) await events.consume(consumer);
    await events.open();
    const event = { id: newId('outbox'), subject: happened.subject, data: { number: 1 } };
    await database.service.transaction((tx) => new Outbox().repeat(tx, [{ consumer: 'probe.two', event }]));
    await announce(database.service, [2]);

    await relay.publish();

    await waitFor(queued, (rows) => rows.length === 0);
    expect([one.numbers(), two.numbers().sort()]).toEqual([[2], [1, 2]]);
    await expect(unpublished(database.service)).resolves.toBe(0);
  });
});
