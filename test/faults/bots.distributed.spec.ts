// Takes more than 10 s: a fleet of its own.
import type { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { hasNatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import type { Effect } from '../bots/effects';
import { bundleBot, type Sdk, serveBot, type ServedBot } from '../support/bots';
import { Fleet } from './fleet';

const timeoutMs = 60_000;

(hasNatsServer() ? describe : describe.skip)('Deliveries to bots', () => {
  let fleet: Fleet;
  const served: ServedBot[] = [];

  beforeAll(async () => {
    fleet = await Fleet.start({ replicasOf: { chat: 2, runtime: 2 } });
  });

  afterAll(async () => {
    await fleet?.stop();
    await Promise.all(served.map((bot) => bot.stop()));
  });

  /** An error of the 0.10 bot, such as a failed call of the API, is answered with 500 and repeated. */
  async function newEchoBot(delayMs: number, sdk: Sdk = '0.10') {
    const env = { BOT_DELAY_MS: String(delayMs) };
    const bot = await serveBot(await bundleBot('echo', sdk), { apiUrl: fleet.url, token: fleet.token, env });
    served.push(bot);
    const { id } = (await clientOf(fleet).createBot({ url: bot.url })).bot;
    return { bot, client: clientOf(fleet, id) };
  }

  it('call the bot exactly once and in order for 50 conversations at once, where nothing is harmed', async () => {
    const { bot, client } = await newEchoBot(5);

    const ids = await converse(client, { conversations: 50, messages: 4 });

    expect(await statuses(client, 200)).toEqual({ processed: 200 });
    const effects = await bot.effects();
    for (const id of ids) expect(textsOf(effects, id)).toEqual(['1', '2', '3', '4']);
    expect(effects.filter(({ concurrent }) => concurrent > 1)).toEqual([]);
    expect(effects).toHaveLength(200);
  });

  it('lose no event and keep the order of each conversation while processes and the broker are killed', async () => {
    const { bot, client } = await newEchoBot(20);
    let isTalking = true;
    const talking = converse(client, { conversations: 30, messages: 8 }).finally(() => (isTalking = false));

    const harm = async () => {
      for (const victim of [fleet.the('runtime'), fleet.the('chat'), fleet.replicas('runtime')[1]!]) {
        victim.signal('SIGKILL');
        await victim.ended();
        await victim.start();
      }
      await fleet.nats.kill();
      await fleet.nats.run();
    };
    await harm();
    if (isTalking) await harm();
    const ids = await talking;

    const sent = await Promise.all(ids.map((id) => eventsOf(client, id)));
    expect(sent.flat().length).toBeGreaterThanOrEqual(240);
    expect(await statuses(client, sent.flat().length)).toEqual({ processed: sent.flat().length });
    const handled = (await bot.effects()).map(({ eventId }) => eventId!);
    for (const events of sent) {
      const places = events.map((id) => handled.indexOf(id));
      expect(places).not.toContain(-1);
      expect(places).toEqual([...places].sort((a, b) => a - b));
    }
  });

  /** Ids of the events of a conversation, oldest first. */
  async function eventsOf(client: Client, conversationId: string): Promise<string[]> {
    const list = () => client.list.events({ conversationId, type: 'message_created' }).collect();
    const events = await patiently(list);
    return events.map(({ id }) => id).sort();
  }

  /** Sends the messages `1`, `2`, … in each of the conversations, and returns the ids of the conversations. */
  async function converse(client: Client, { conversations, messages }: { conversations: number; messages: number }) {
    const { user } = await client.createUser({ tags: {} });
    return Promise.all(
      Array.from({ length: conversations }, async () => {
        const { conversation } = await client.createConversation({ channel: 'channel', tags: {} });
        for (let n = 1; n <= messages; n += 1) {
          const payload = { text: String(n) };
          const message = { conversationId: conversation.id, userId: user.id, type: 'text', payload, tags: {} };
          await patiently(() => client.createMessage(message));
        }
        return conversation.id;
      }),
    );
  }

  /** Number of events by status when none is pending. */
  function statuses(client: Client, count: number): Promise<Record<string, number>> {
    return waitFor(
      async () => {
        const events = await patiently(() => client.list.events({}).collect());
        const counts: Record<string, number> = {};
        for (const { status } of events) counts[status] = (counts[status] ?? 0) + 1;
        return counts;
      },
      ({ pending = 0, ...settled }) =>
        pending === 0 && Object.values(settled).reduce((sum, each) => sum + each, 0) >= count,
      timeoutMs,
    );
  }
});

/** Repeats a request that fails while a process is away: it may have been carried out. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const { value } = await waitFor(
    () =>
      ask().then(
        (value) => ({ value }),
        (error: unknown) => ({ error, value: undefined }),
      ),
    (answer) => !('error' in answer),
    timeoutMs,
  );
  return value as T;
}

function textsOf(effects: Effect[], conversationId: string) {
  return effects.filter((effect) => effect.conversationId === conversationId).map(({ text }) => text);
}
