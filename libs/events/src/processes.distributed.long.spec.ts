import { setDuplicateWindow, storedEventIds } from '@parley/transport/test/stored-events';
import { hasNatsServer } from '@parley/testing/nats-server';
import type { run } from '@parley/testing/running-platform';
import { waitFor } from '@parley/testing/wait-for';
import { unpublished } from './test/outbox-database';
import { OutboxProcesses } from './test/outbox-processes';

const suite = hasNatsServer() ? describe : describe.skip;

suite('Events between processes', () => {
  let processes: OutboxProcesses;

  afterAll(() => processes.stop());

  async function happened(botIds: string[]): Promise<boolean> {
    return (await processes.effects(botIds)).every((count) => count > 0);
  }

  async function idsAfter(known: string[]): Promise<string[]> {
    return (await storedEventIds(processes.nats.url)).slice(known.length);
  }

  describe('of which one runs the relay', () => {
    let relay: ReturnType<typeof run>;

    beforeAll(async () => {
      processes = await OutboxProcesses.prepare();
      [relay] = await Promise.all([processes.startRelay(), processes.startConsumer()]);
    });

    it.each([
      ['still knows', 120_000, 1],
      ['no longer knows', 100, 2],
    ])(
      'applies events once if the relay is killed before its commit and the stream %s the message',
      async (_what, windowMs, times) => {
        await setDuplicateWindow(processes.nats.url, windowMs);
        const known = await storedEventIds(processes.nats.url);
        const gate = await processes.closeGate();
        const bots = await processes.announceEach(1);
        const eventId = await processes.eventIdOf(bots[0]!);

        await waitFor(async () => (await processes.countWaiting()) === 1);
        const published = await idsAfter(known);
        process.kill(relay.pid, 'SIGKILL');
        await relay.ended;
        await gate.commit();
        await waitFor(async () => (await processes.countFree()) === 1);
        relay = await processes.startRelay();

        expect(published).toEqual([eventId]);
        await waitFor(async () => (await unpublished(processes.database)) === 0);
        await waitFor(async () => (await processes.arrivals(bots))[0]! >= times);
        await expect(idsAfter(known)).resolves.toEqual(Array(times).fill(eventId));
        await expect(processes.effects(bots)).resolves.toEqual([1]);
      },
    );
  });

  describe('of which two run relays and two consume', () => {
    beforeAll(async () => {
      await setDuplicateWindow(processes.nats.url, 120_000);
      await Promise.all([processes.startRelay(), processes.startConsumer()]);
    });

    it('delivers events in any order of their commits, and never after a rollback', async () => {
      const known = await storedEventIds(processes.nats.url);
      const slow = await processes.announceSlowly();
      const before = await processes.announceEach(5);
      const never = await processes.announceSlowly();
      const after = await processes.announceEach(5);
      await never.rollBack();

      await waitFor(() => happened([...before, ...after]));
      const meanwhile = await processes.effects([slow.result]);
      await slow.commit();

      await waitFor(() => happened([slow.result]));
      const ids = await idsAfter(known);
      expect(meanwhile).toEqual([0]);
      expect(ids).toHaveLength(11);
      expect(ids.at(-1)).toBe([...ids].sort()[0]);
      await expect(processes.effects([...before, slow.result, ...after])).resolves.toEqual(Array(11).fill(1));
      await expect(processes.effects([never.result])).resolves.toEqual([0]);
    });

    it('publishes all events again when the stream is lost, and applies none again', async () => {
      const bots = await processes.announceEach(50);
      await waitFor(() => happened(bots));
      await waitFor(async () => (await unpublished(processes.database)) === 0);

      await processes.nats.kill();
      await processes.nats.wipe();
      await processes.nats.run();

      await waitFor(async () => (await processes.arrivals(bots)).every((count) => count > 1), Boolean, 60_000);
      await waitFor(async () => (await unpublished(processes.database)) === 0);
      await expect(processes.effects(bots)).resolves.toEqual(bots.map(() => 1));
    });

    it('delivers all events once with two relays and two consumers', async () => {
      const gate = await processes.closeGate();
      const first = await processes.announceEach(260);
      // Each relay holds one batch at a time: two waiting transactions belong to two processes with different rows.
      await waitFor(async () => (await processes.countWaiting()) === 2);

      await gate.commit();
      const rest = await processes.announceEach(140);

      const all = [...first, ...rest];
      await waitFor(() => happened(all), Boolean, 60_000);
      await waitFor(async () => (await unpublished(processes.database)) === 0);
      await expect(processes.effects(all)).resolves.toEqual(all.map(() => 1));
    });
  });
});
