// Takes more than 10 s: a fleet of its own, and the leases of a killed runtime process end after 15 s.
import { TunnelTail } from '@bpinternal/tunnel';
import type { Client } from '@botpress/client';
import type { Deliveries } from '@parley/contracts/runtime/deliveries';
import { operatorToken } from '@parley/secrets/token';
import { clientOf } from '@parley/testing/api';
import { freePort } from '@parley/testing/free-port';
import { hasNatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import type { Effect } from '../bots/effects';
import { bundleBot, serveBot, type ServedBot } from '../support/bots';
import { Fleet } from './fleet';

jest.setTimeout(180_000);
const settledWithinMs = 90_000;
const tunnelUrl = 'http://tunnel.test';

/** Returns what mends it. `untilMore` resolves when the bot has handled 50 more messages. */
type Fault = (fleet: Fleet, untilMore: () => Promise<unknown>) => Promise<() => Promise<unknown>>;

interface Conversing {
  conversations: number;
  messages: number;
  goesOn?: () => boolean;
}

const faults: Record<string, Fault> = {
  'a runtime process, then a chat process': async (fleet, untilMore) => {
    const [runtime, chat] = [fleet.the('runtime'), fleet.the('chat')];
    await runtime.end('SIGKILL');
    await untilMore();
    await chat.end('SIGKILL');
    await untilMore();
    return () => Promise.all([runtime.start(), chat.start()]);
  },
  NATS: async ({ nats, balancers }) => {
    await nats.kill();
    await waitFor(() => balancers.every(({ readyCount }) => readyCount === 0));
    return () => nats.run();
  },
};

(hasNatsServer() ? describe : describe.skip)('Deliveries to bots', () => {
  let fleet: Fleet;
  let tunnelPorts: number[];
  const served: ServedBot[] = [];

  beforeAll(async () => {
    tunnelPorts = [await freePort(), await freePort()];
    fleet = await Fleet.start({
      replicasOf: { gateway: 2, chat: 2, runtime: 2, 'files-worker': 0, tables: 0, runner: 0, models: 0 },
      env: { TUNNEL_URL: tunnelUrl },
      envOf: { gateway: tunnelPorts.map((port) => ({ TUNNEL_PORT: String(port) })) },
    });
  });

  afterAll(async () => {
    await fleet?.stop();
    await Promise.all(served.map((bot) => bot.stop()));
  });

  async function newEchoBot(env: Record<string, string>, url?: string) {
    const bot = await serveBot(await bundleBot('echo', '5'), { apiUrl: fleet.url, token: fleet.token, env });
    served.push(bot);
    const { id } = (await clientOf(fleet).createBot({ url: url ?? bot.url })).bot;
    return { id, bot, client: clientOf(fleet, id) };
  }

  it('calls the bot exactly once and in order for 50 conversations at once, without faults', async () => {
    const { bot, client } = await newEchoBot({ BOT_DELAY_MS: '5' });

    const { ids } = await converse(client, { conversations: 50, messages: 4 });

    expect(await statuses(client, 200)).toEqual({ processed: 200 });
    const effects = await bot.effects();
    for (const id of ids) expect(textsOf(effects, id)).toEqual(['1', '2', '3', '4']);
    expect(effects.filter(({ concurrent }) => concurrent > 1)).toEqual([]);
    expect(effects).toHaveLength(200);
  });

  it.each(Object.entries(faults))(
    'loses no message, and keeps the order of each conversation, when %s is killed',
    async (_name, fault) => {
      // Without answers, so that no attempt of the bot fails because of our fault.
      const { bot, client } = await newEchoBot({ BOT_DELAY_MS: '100', BOT_IS_SILENT: 'true' });
      const handles = async (count: number) => waitFor(async () => (await bot.effects()).length >= count);
      let isHarming = true;
      const conversing = converse(client, { conversations: 50, messages: 8, goesOn: () => isHarming });
      const harm = async () => {
        await handles(10);
        return fault(fleet, async () => handles((await bot.effects()).length + 50));
      };

      const mend = await harm().finally(() => (isHarming = false));
      await mend();
      const { ids, acknowledged } = await conversing;

      const sent = await messagesOf(client, ids);
      const eventOf = await eventsOfMessages(client);
      expect(acknowledged.filter((id) => !sent.flat().includes(id))).toEqual([]);
      expect(sent.flat().filter((id) => !eventOf.has(id))).toEqual([]);
      expect(await statuses(client, eventOf.size)).toEqual({ processed: sent.flat().length });
      const effects = await bot.effects();
      expect(ids.map((id) => handledFirst(effects, id))).toEqual(
        sent.map((messages) => messages.map((id) => eventOf.get(id))),
      );
    },
  );

  it('delays messages while the gateway with the tunnel is gone, until the client returns to another', async () => {
    const id = 'tunnel-1';
    const { id: botId, bot, client } = await newEchoBot({ BOT_IS_SILENT: 'true' }, `${tunnelUrl}/${id}`);
    const first = await dial(0, id);
    const isCalled = new Promise((resolve) => first.events.once('request', resolve));
    const closed = new Promise((resolve) => first.events.once('close', resolve));
    const inProgress = await converse(client, { conversations: 1, messages: 1 });
    await isCalled;

    await fleet.the('gateway').end('SIGKILL');
    await closed;
    const later = await converse(client, { conversations: 5, messages: 2 });
    await waitFor(
      () => parkedOf(botId),
      ({ length }) => length >= 5,
    );
    const second = await dial(1, id);
    answerWith(bot, second);

    expect(await statuses(client, 11)).toEqual({ processed: 11 });
    const effects = await bot.effects();
    expect(inProgress.ids.map((conversation) => textsOf(effects, conversation))).toEqual([['1']]);
    for (const conversation of later.ids) expect(textsOf(effects, conversation)).toEqual(['1', '2']);
    expect(effects).toHaveLength(11);
    second.close();
    await fleet.the('gateway').start();
  });

  async function dial(gateway: number, id: string): Promise<TunnelTail> {
    const tail = await TunnelTail.new(`ws://127.0.0.1:${tunnelPorts[gateway]}`, id);
    tail.hello();
    return tail;
  }

  async function parkedOf(botId: string): Promise<Deliveries['deliveries']> {
    const response = await fetch(`${fleet.url}/operator/runtime/bots/${botId}/deliveries?status=parked`, {
      headers: { authorization: `Bearer ${operatorToken(fleet.secretKey)}` },
    });
    return ((await response.json()) as Deliveries).deliveries;
  }

  /**
   * Sends the messages `1`, `2`, … in each of the conversations, more than `messages` while `goesOn()` is true. Repeats a
   * request that fails, so that a message whose answer was lost may exist twice. Returns the ids of the conversations, and
   * of the acknowledged messages.
   */
  async function converse(client: Client, { conversations, messages, goesOn = () => false }: Conversing) {
    const acknowledged: string[] = [];
    const { user } = await client.createUser({ tags: {} });
    const ids = await Promise.all(
      Array.from({ length: conversations }, async () => {
        const { conversation } = await client.createConversation({ channel: 'channel', tags: {} });
        return conversation.id;
      }),
    );
    await Promise.all(
      ids.map(async (conversationId) => {
        for (let n = 1; n <= messages || goesOn(); n += 1) {
          const content = { type: 'text', payload: { text: String(n) }, tags: {} };
          const { message } = await patiently(() =>
            client.createMessage({ conversationId, userId: user.id, ...content }),
          );
          acknowledged.push(message.id);
        }
      }),
    );
    return { ids, acknowledged };
  }

  /** Ids of the messages of each conversation, oldest first. */
  function messagesOf(client: Client, conversationIds: string[]): Promise<string[][]> {
    return Promise.all(
      conversationIds.map(async (conversationId) => {
        const messages = await patiently(() => client.list.messages({ conversationId }).collect());
        return messages.map(({ id }) => id).reverse();
      }),
    );
  }

  /** Ids of events by the id of their message. */
  async function eventsOfMessages(client: Client): Promise<Map<string, string>> {
    const events = await patiently(() => client.list.events({ type: 'message_created' }).collect());
    return new Map(events.map(({ id, messageId }) => [messageId!, id]));
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
      settledWithinMs,
    );
  }
});

/** Passes requests on to the bot, as `bp dev` does. */
function answerWith(bot: ServedBot, tail: TunnelTail): void {
  const answer = async (requestId: string, request: RequestInit) => {
    const response = await fetch(bot.url, request);
    tail.send({ requestId, status: response.status, body: await response.text() });
  };
  tail.events.on('request', ({ id, method, headers, body }) => {
    void answer(id, { method, headers: headers as Record<string, string>, body });
  });
}

/** Repeats a request that fails while a process is away: it may have been carried out. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const failed = Symbol('failed');
  const answer = await waitFor(
    () => ask().catch(() => failed),
    (result) => result !== failed,
    settledWithinMs,
  );
  return answer as T;
}

function textsOf(effects: Effect[], conversationId: string) {
  return effects.filter((effect) => effect.conversationId === conversationId).map(({ text }) => text);
}

/** Ids of the events of a conversation, in the order of their first handling. */
function handledFirst(effects: Effect[], conversationId: string) {
  const ofConversation = effects.filter((effect) => effect.conversationId === conversationId);
  return [...new Set(ofConversation.map(({ eventId }) => eventId))];
}
