// Takes more than 10 s: a fleet of its own.
import type { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { hasNatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import type { Effect } from '../bots/effects';
import { bundleBot, serveBot, type ServedBot } from '../support/bots';
import { Fleet } from './fleet';

const timeoutMs = 60_000;

(hasNatsServer() ? describe : describe.skip)('Deliveries to bots', () => {
  let fleet: Fleet;
  const served: ServedBot[] = [];

  beforeAll(async () => {
    fleet = await Fleet.start();
  });

  afterAll(async () => {
    await fleet?.stop();
    await Promise.all(served.map((bot) => bot.stop()));
  });

  async function newEchoBot(delayMs: number) {
    const env = { BOT_DELAY_MS: String(delayMs) };
    const bot = await serveBot(await bundleBot('echo', '5'), { apiUrl: fleet.url, token: fleet.token, env });
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

  /** Sends the messages `1`, `2`, … in each of the conversations, and returns the ids of the conversations. */
  async function converse(client: Client, { conversations, messages }: { conversations: number; messages: number }) {
    const { user } = await client.createUser({ tags: {} });
    return Promise.all(
      Array.from({ length: conversations }, async () => {
        const { conversation } = await client.createConversation({ channel: 'channel', tags: {} });
        for (let n = 1; n <= messages; n += 1) {
          const payload = { text: String(n) };
          await client.createMessage({
            ...{ conversationId: conversation.id, userId: user.id, type: 'text', payload, tags: {} },
          });
        }
        return conversation.id;
      }),
    );
  }

  /** Number of events by status when none is pending. */
  function statuses(client: Client, count: number): Promise<Record<string, number>> {
    return waitFor(
      async () => {
        const events = await client.list.events({}).collect();
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

function textsOf(effects: Effect[], conversationId: string) {
  return effects.filter((effect) => effect.conversationId === conversationId).map(({ text }) => text);
}
