import type { EventMessage } from '@parley/transport/event-stream';
import { waitFor } from '@parley/testing/wait-for';
import { queue } from '@parley/work-queue/queue';
import { WorkRepository } from '@parley/work-queue/work.repository';
import { PostgresEvents } from './postgres-events';
import { consumerOf, createOutboxDatabase, happened, type OutboxDatabase, range, silent } from './test/outbox-database';

let database: OutboxDatabase;
let streams: PostgresEvents[] = [];

function newStream(options: { leaseMs?: number } = {}): PostgresEvents {
  const events = new PostgresEvents(database.events, silent, options);
  streams.push(events);
  return events;
}

function eventsOf(count: number): EventMessage[] {
  return range(count).map((number) => ({ id: `event-${number}`, subject: happened.subject, data: { number } }));
}

/** Process that claims events of one consumer and ends without a trace. */
async function processThatDied(consumer: string, events: number) {
  const repository = new WorkRepository(database.events);
  const works = eventsOf(events).map(({ id: key, subject, data }) => ({ key, tenant: '', payload: { subject, data } }));
  await repository.insertWork(queue(consumer), works);
  const limits = { worker: 'embedded', leaseMs: 3_600_000, perTenant: Infinity, running: new Map<string, number>() };
  return {
    claim: async (limit: number) => {
      await repository.endLeasesOf('embedded', [consumer]);
      await repository.releaseDueWork([consumer]);
      expect(await repository.claimWork(queue(consumer), { ...limits, limit })).toHaveLength(limit);
    },
  };
}

async function waiting(): Promise<number> {
  return (await database.events.query('SELECT 1 FROM work')).length;
}

/** Makes all postponed deliveries due at once. The result returns their delays. */
async function skipDelays(): Promise<() => Promise<string[]>> {
  await database.events.query(`
    CREATE TABLE postponed (position serial, delay interval);
    CREATE FUNCTION skip_delay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO postponed (delay) VALUES (NEW.due_at - now());
      NEW.due_at = now();
      RETURN NEW;
    END $$;
    CREATE TRIGGER skip_delay BEFORE UPDATE OF last_error ON work FOR EACH ROW EXECUTE FUNCTION skip_delay()`);
  return async () => {
    const rows = await database.events.query<{ delay: string }>('SELECT delay::text FROM postponed ORDER BY position');
    return rows.map(({ delay }) => delay);
  };
}

describe('The event stream in Postgres', () => {
  beforeAll(async () => {
    database = await createOutboxDatabase();
  });

  afterEach(async () => {
    await Promise.all(streams.map((events) => events.drain()));
    streams = [];
    await database.events.query(`
      DROP TRIGGER IF EXISTS fail_finish ON work;
      DROP TRIGGER IF EXISTS skip_delay ON work;
      DROP FUNCTION IF EXISTS skip_delay;
      DROP TABLE IF EXISTS postponed`);
    await database.events.query('DELETE FROM work');
  });

  afterAll(() => database.drop());

  it('delivers each event to each of its consumers once, and leaves no rows', async () => {
    const events = newStream();
    const [first, second, other] = [
      consumerOf('first', { concurrency: 3 }),
      consumerOf('second'),
      consumerOf('other', { subject: 'probe.other' }),
    ];
    for (const { consumer } of [first, second, other]) await events.consume(consumer);
    await events.open();

    await events.publish(eventsOf(50));

    await waitFor(async () => (await waiting()) === 0);
    expect(first.numbers().sort((a, b) => a - b)).toEqual(range(50));
    expect(second.numbers().sort((a, b) => a - b)).toEqual(range(50));
    expect(other.deliveries).toEqual([]);
  });

  it('tells which consumers have a process that works on their events', async () => {
    const events = newStream();
    const { consumer } = consumerOf('known');
    await events.consume(consumer);

    expect([await events.isConsumed(consumer), await events.isConsumed({ name: 'unknown' })]).toEqual([true, false]);
  });

  it('delivers an event once that is published twice before it is handled', async () => {
    const events = newStream();
    let release = () => {};
    const slow = consumerOf('slow', { handle: () => new Promise((resolve) => (release = resolve)) });
    await events.consume(slow.consumer);
    await events.open();
    await events.publish(eventsOf(1));
    await waitFor(() => slow.deliveries.length === 1);

    await events.publish(eventsOf(1));
    release();

    await waitFor(async () => (await waiting()) === 0);
    expect(slow.deliveries).toHaveLength(1);
  });

  it('rejects events before the stream is open, while consumers may be missing', async () => {
    const events = newStream();
    await events.consume(consumerOf('first').consumer);

    await expect(events.publish(eventsOf(1))).rejects.toThrow('not open');
    await expect(waiting()).resolves.toBe(0);
  });

  it('redelivers an event later after an error, without delaying others', async () => {
    const events = newStream();
    const delays = await skipDelays();
    const flaky = consumerOf('flaky', {
      handle: async ({ event, attempt }) => {
        if (event.id === 'event-1' && attempt < 3) throw new Error(`not yet\0 ${'x'.repeat(5000)}`);
      },
    });
    await events.consume(flaky.consumer);
    await events.open();

    await events.publish(eventsOf(4));

    await waitFor(async () => (await waiting()) === 0);
    expect(new Set(flaky.numbers().slice(0, 4))).toEqual(new Set(range(4)));
    expect(flaky.numbers().slice(4)).toEqual([1, 1]);
    await expect(delays()).resolves.toEqual(['00:00:01', '00:00:02']);
  });

  it('stores an event as a dead letter with the reason after the last delivery', async () => {
    const events = newStream();
    await skipDelays();
    const broken = consumerOf('broken', {
      maxDeliveries: 2,
      handle: () => Promise.reject(new Error('It does not work.')),
    });
    await events.consume(broken.consumer);
    await events.open();

    await events.publish(eventsOf(1));

    await waitFor(async () => (await waiting()) === 0);
    expect(broken.deliveries.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(broken.deadLetters).toEqual([{ event: eventsOf(1)[0], attempts: 2, reason: 'It does not work.' }]);
  });

  it('replays an event to one consumer only, even while that consumer gives it up', async () => {
    const events = newStream();
    const [event] = eventsOf(1);
    const broken = consumerOf('broken', {
      maxDeliveries: 1,
      handle: async () => {
        if (broken.deliveries.length === 1) throw new Error('It does not work.');
      },
      deadLetter: async () => {
        await events.publish([{ ...event!, again: { consumer: 'broken', messageId: 'message-2' } }]);
      },
    });
    const other = consumerOf('other');
    for (const { consumer } of [broken, other]) await events.consume(consumer);
    await events.open();

    await events.publish([event!]);

    await waitFor(() => broken.deliveries.length === 2);
    await waitFor(async () => (await waiting()) === 0);
    expect(broken.deliveries.map((delivery) => [delivery.event.id, delivery.attempt])).toEqual([
      ['event-1', 1],
      ['event-1', 1],
    ]);
    expect(other.deliveries).toHaveLength(1);
  });

  it('redelivers an event when its dead letter cannot be stored', async () => {
    const events = newStream({ leaseMs: 300 });
    let graves = 0;
    const broken = consumerOf('broken', {
      maxDeliveries: 1,
      handle: () => Promise.reject(new Error('It does not work.')),
      deadLetter: async () => {
        graves += 1;
        if (graves === 1) throw new Error('The database does not answer.');
      },
    });
    await events.consume(broken.consumer);
    await events.open();

    await events.publish(eventsOf(1));

    await waitFor(async () => (await waiting()) === 0);
    expect(graves).toBe(2);
    expect(broken.deliveries).toHaveLength(1);
  });

  it('extends the lease of an event while its handler runs, and delivers it to no other', async () => {
    const events = newStream({ leaseMs: 600 });
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const slow = consumerOf('slow', {
      concurrency: 2,
      handle: ({ event }) => (event.id === 'event-1' ? released : Promise.resolve()),
    });
    const leases = () => database.events.query<{ due_at: Date }>(`SELECT due_at FROM work WHERE key = 'event-1'`);
    await events.consume(slow.consumer);
    await events.open();
    await events.publish(eventsOf(1));
    await waitFor(() => slow.deliveries.length === 1);
    const [taken] = await leases();

    await waitFor(leases, ([extended]) => extended!.due_at > taken!.due_at);
    await events.publish(eventsOf(2));
    await waitFor(() => slow.deliveries.length === 2);
    release();

    await waitFor(async () => (await waiting()) === 0);
    expect(slow.numbers()).toEqual([1, 2]);
  });

  it('leases an event for 15 s, after which another process delivers it', async () => {
    await database.events.query(`
      CREATE TABLE leased (duration interval);
      CREATE FUNCTION note_lease() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.lease IS NOT NULL THEN INSERT INTO leased VALUES (NEW.due_at - now()); END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER note_lease BEFORE INSERT OR UPDATE ON work FOR EACH ROW EXECUTE FUNCTION note_lease()`);
    const events = newStream();
    const quick = consumerOf('quick');
    await events.consume(quick.consumer);
    await events.open();

    await events.publish(eventsOf(1));
    await waitFor(async () => quick.deliveries.length === 1 && (await waiting()) === 0);

    const [leased] = await database.events.query<{ duration: string }>('SELECT duration::text FROM leased');
    expect(leased).toEqual({ duration: '00:00:15' });
    await database.events.query('DROP TRIGGER note_lease ON work; DROP FUNCTION note_lease; DROP TABLE leased');
  });

  it('takes over the leases of the previous process at once', async () => {
    const previous = await processThatDied('heir', 2);
    await previous.claim(1);
    const heir = consumerOf('heir');
    const events = newStream();
    await events.consume(heir.consumer);

    await events.open();

    await waitFor(() => heir.deliveries.length === 2);
    expect(heir.deliveries.map(({ attempt }) => attempt).sort()).toEqual([1, 2]);
  });

  it('gives up an event that has ended its process at every delivery, without another attempt', async () => {
    const previous = await processThatDied('deadly', 1);
    for (let attempt = 1; attempt <= 3; attempt += 1) await previous.claim(1);
    const deadly = consumerOf('deadly', { maxDeliveries: 3 });
    const events = newStream();
    await events.consume(deadly.consumer);

    await events.open();

    await waitFor(async () => (await waiting()) === 0);
    expect(deadly.deliveries).toEqual([]);
    expect(deadly.deadLetters).toMatchObject([{ attempts: 4, reason: 'Every process that worked on it ended.' }]);
  });

  it('returns running events when the stream stops, without counting the attempt', async () => {
    const stopping = newStream();
    const interrupted = consumerOf('long', {
      maxDeliveries: 1,
      handle: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
    });
    await stopping.consume(interrupted.consumer);
    await stopping.open();
    await stopping.publish(eventsOf(2));
    await waitFor(() => interrupted.deliveries.length === 1);

    await stopping.drain();
    const heir = consumerOf('long', { maxDeliveries: 1 });
    const next = newStream();
    await next.consume(heir.consumer);
    await next.open();

    await waitFor(async () => (await waiting()) === 0);
    expect(heir.deliveries.map(({ attempt }) => attempt)).toEqual([1, 1]);
    expect(interrupted.deadLetters).toEqual([]);
    expect(interrupted.deliveries).toHaveLength(1);
  });

  it('loses no event and continues when the database fails while an event is finished', async () => {
    const events = newStream({ leaseMs: 500 });
    await database.events.query(`
      CREATE OR REPLACE FUNCTION fail_finish() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'disk full'; END $$;
      CREATE TRIGGER fail_finish BEFORE DELETE ON work FOR EACH ROW EXECUTE FUNCTION fail_finish()`);
    const steady = consumerOf('steady', { maxDeliveries: 3 });
    await events.consume(steady.consumer);
    await events.open();

    await events.publish(eventsOf(2));
    await waitFor(() => new Set(steady.numbers()).size === 2);
    await database.events.query('DROP TRIGGER fail_finish ON work');

    await waitFor(async () => (await waiting()) === 0);
    expect(steady.deadLetters).toEqual([]);
  });

  it('continues to deliver events when the connections of the stream are cut', async () => {
    const events = newStream({ leaseMs: 500 });
    let goOn = () => {};
    const cut = new Promise<void>((resolve) => (goOn = resolve));
    const steady: ReturnType<typeof consumerOf> = consumerOf('steady', {
      handle: () => (steady.deliveries.length > 4 ? cut : Promise.resolve()),
    });
    await events.consume(steady.consumer);
    await events.open();
    await events.publish(eventsOf(30));
    await waitFor(() => steady.deliveries.length > 4);

    await database.service.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'parley-events'`,
    );
    goOn();

    await waitFor(async () => (await waiting().catch(() => 1)) === 0);
    expect(new Set(steady.numbers()).size).toBe(30);
  });
});
