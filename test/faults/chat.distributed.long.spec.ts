import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type AuthenticatedClient, Client as ChatClient } from '@botpress/chat';
import { clientOf } from '@parley/testing/api';
import { hasNatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import { Fleet } from './fleet';
import { SseListener } from './sse-listener';

const suite = hasNatsServer() ? describe : describe.skip;

interface Room {
  id: string;
  acknowledged: Set<string>;
}

suite('The chat, with two gateways and two chat processes,', () => {
  let fleet: Fleet;
  /** Chat API of one bot, through the balancer. */
  let apiUrl: string;
  let path: string;
  let ann: AuthenticatedClient;
  const listeners: SseListener[] = [];

  beforeAll(async () => {
    fleet = await Fleet.start({
      replicasOf: { gateway: 2, chat: 2, 'files-worker': 0, tables: 0, runtime: 0, runner: 0, models: 0 },
    });
    const { bot } = await clientOf(fleet).createBot({});
    path = `/chat/${Object.values(bot.integrations)[0]!.webhookId}`;
    apiUrl = `${fleet.url}${path}`;
    ann = await ChatClient.connect({ apiUrl });
  });

  afterEach(() => listeners.splice(0).forEach((listener) => listener.stop()));

  afterAll(() => fleet?.stop());

  async function newRoom(): Promise<Room> {
    const { conversation } = await ann.createConversation({});
    return { id: conversation.id, acknowledged: new Set() };
  }

  async function listen({ id }: Room, gateways = [0, 1]): Promise<SseListener> {
    const urls = gateways.map((n) => `${fleet.replicas('gateway')[n]!.url}${path}/conversations/${id}/listen`);
    const listener = await SseListener.open(urls, ann.user.key);
    listeners.push(listener);
    return listener;
  }

  /** Posts into the room until stopped; retries a failure as a new message. */
  function post(room: Room, user = ann) {
    let isStopped = false;
    let failures = 0;
    const done = (async () => {
      for (let n = 0; !isStopped; n++) {
        const payload = { type: 'text' as const, text: `${room.id} ${n}` };
        await user.createMessage({ conversationId: room.id, payload }).then(
          ({ message }) => room.acknowledged.add(message.id),
          () => (failures += 1),
        );
        // Requests fail synchronously while NATS is down: this lets other work run.
        await yieldToEventLoop();
      }
    })();
    return {
      failures: () => failures,
      stop: async () => {
        isStopped = true;
        await done;
        return { failures };
      },
    };
  }

  async function listed({ id }: Room): Promise<string[]> {
    const messages = await ann.list.messages({ conversationId: id }).collect();
    return messages.map((message) => message.id).reverse();
  }

  /** Checks that the listener received all listed messages in order. */
  async function hearsAll(listener: SseListener, room: Room): Promise<void> {
    const expected = await listed(room);
    await waitFor(
      () => listener.messageIds.length,
      (count) => count >= expected.length,
      30_000,
    );
    expect(listener.messageIds).toEqual(expected);
  }

  it('loses no acknowledged message when a gateway is killed, and listeners continue through the other', async () => {
    const room = await newRoom();
    const gateway = fleet.replicas('gateway')[0]!;
    const [moved, stayed] = [await listen(room, [0, 1]), await listen(room, [1])];
    const posting = post(room);
    await waitFor(() => room.acknowledged.size > 30);

    await gateway.end('SIGKILL');
    await waitFor(() => moved.connections === 2);
    const after = room.acknowledged.size + 30;
    await waitFor(() => room.acknowledged.size > after);
    await posting.stop();
    await gateway.start();

    const all = await listed(room);
    expect([...room.acknowledged].filter((id) => !all.includes(id))).toEqual([]);
    await hearsAll(moved, room);
    await hearsAll(stayed, room);
  });

  it('loses no acknowledged message when NATS is restarted, and listeners receive all of them', async () => {
    const room = await newRoom();
    const [one, other] = [await listen(room, [0]), await listen(room, [1])];
    const posting = post(room);
    await waitFor(() => room.acknowledged.size > 30);

    await fleet.nats.kill();
    await waitFor(() => posting.failures() > 10);
    await fleet.nats.run();
    const after = room.acknowledged.size + 30;
    await waitFor(() => room.acknowledged.size > after);
    const { failures } = await posting.stop();

    expect(failures).toBeGreaterThan(0);
    const all = await listed(room);
    expect([...room.acknowledged].filter((id) => !all.includes(id))).toEqual([]);
    await hearsAll(one, room);
    await hearsAll(other, room);
  });

  it('loses no acknowledged message when a chat process is killed while it writes', async () => {
    const room = await newRoom();
    const listener = await listen(room);
    const postings = Array.from({ length: 8 }, () => post(room));
    await waitFor(() => room.acknowledged.size > 50);
    const [process_] = fleet.replicas('chat');

    await process_!.end('SIGKILL');
    const after = room.acknowledged.size + 50;
    await waitFor(() => room.acknowledged.size > after);
    await Promise.all(postings.map((posting) => posting.stop()));
    // A starting process publishes signals that were committed but not published.
    await process_!.start();

    const all = await listed(room);
    expect([...room.acknowledged].filter((id) => !all.includes(id))).toEqual([]);
    await hearsAll(listener, room);
  });

  it('does not mix two conversations', async () => {
    const rooms = [await newRoom(), await newRoom()];
    const hearing = await Promise.all(rooms.map((room) => listen(room)));
    const postings = rooms.map((room) => post(room));

    await waitFor(() => rooms.every(({ acknowledged }) => acknowledged.size > 40));
    await Promise.all(postings.map((posting) => posting.stop()));

    for (const [n, room] of rooms.entries()) {
      await hearsAll(hearing[n]!, room);
      expect(hearing[n]!.heard.filter(({ data }) => data['conversationId'] !== room.id)).toEqual([]);
      expect(new Set(await listed(room))).toEqual(room.acknowledged);
    }
  });

  it('delivers the same order to all listeners while 50 clients post into one conversation', async () => {
    const room = await newRoom();
    const users = await Promise.all(Array.from({ length: 50 }, () => ChatClient.connect({ apiUrl })));
    for (const { user } of users) await ann.addParticipant({ conversationId: room.id, userId: user.id });
    const hearing = await Promise.all([0, 1, 0, 1].map((gateway) => listen(room, [gateway])));

    await Promise.all(
      users.map(async (user) => {
        for (let n = 0; n < 10; n++) {
          const payload = { type: 'text' as const, text: `${n}` };
          const { message } = await user.createMessage({ conversationId: room.id, payload });
          room.acknowledged.add(message.id);
        }
      }),
    );

    const all = await listed(room);
    expect(all).toHaveLength(500);
    expect(new Set(all)).toEqual(room.acknowledged);
    for (const listener of hearing) await hearsAll(listener, room);
  });
});
