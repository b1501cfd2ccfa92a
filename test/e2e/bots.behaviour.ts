import { readFile } from 'node:fs/promises';
import type { Client } from '@botpress/client';
import { type AuthenticatedClient, Client as ChatClient } from '@botpress/chat';
import { clientOf } from '@parley/testing/api';
import type { RunningPlatform } from '@parley/testing/running-platform';
import { waitFor } from '@parley/testing/wait-for';
import type { Effect } from '../bots/effects';
import { type BotName, bundleBot, definitionOf, type Sdk, sdks, serveBot, type ServedBot } from '../support/bots';

type Event = Awaited<ReturnType<Client['getEvent']>>['event'];
type Definition = Parameters<Client['createBot']>[0];

/** Bot of the platform, and a user who talks to it. */
interface Deployed {
  botId: string;
  client: Client;
  apiUrl: string;
  token: string;
  served: ServedBot[];
}

const isSettled = ({ status }: Event) => status !== 'pending';

export function describeBots(running: () => RunningPlatform): void {
  describe('bots with a url', () => {
    const served: ServedBot[] = [];
    const listeners: { disconnect: () => Promise<void> }[] = [];
    let admin: Client;
    /** Fails twice. Its pauses of 1 s and 5 s pass while other tests run. */
    let failing: Record<Sdk, { bot: Deployed; twice: Event }>;
    /** Workflows go on after pauses of 1 s. */
    let workflows: Deployed;
    let counting: Conversation;

    beforeAll(async () => {
      admin = clientOf(running());
      const [first, second] = await Promise.all(sdks.map((sdk) => deployed('failing', sdk)));
      failing = {
        '0.10': { bot: first!, twice: await tell(first!, 'twice') },
        '5': { bot: second!, twice: await tell(second!, 'twice') },
      };
      workflows = await deployed('workflow', '5');
      counting = await talk(workflows);
      await counting.say('start 3');
    });

    afterAll(async () => {
      await Promise.all(listeners.map((listener) => listener.disconnect()));
      await Promise.all(served.map((bot) => bot.stop()));
    });

    async function created(definition: Definition = {}): Promise<Deployed> {
      const { bot } = await admin.createBot(definition);
      const { value: token } = await admin.createBotApiKey({ botId: bot.id });
      const apiUrl = Object.values(bot.integrations)[0]!.webhookUrl;
      return { botId: bot.id, client: clientOf(running(), bot.id), apiUrl, token, served: [] };
    }

    async function serve(bot: Deployed, name: BotName, sdk: Sdk): Promise<string> {
      const one = await serveBot(await bundleBot(name, sdk), { apiUrl: running().url, token: bot.token });
      served.push(one);
      bot.served.push(one);
      return one.url;
    }

    async function deployed(name: BotName, sdk: Sdk, definition: Definition = {}): Promise<Deployed> {
      const bot = await created({ ...definitionOf(name), ...definition });
      await admin.updateBot({ id: bot.botId, url: await serve(bot, name, sdk) });
      return bot;
    }

    /** New conversation of a new user with the bot. */
    async function talk({ apiUrl, client }: Deployed) {
      const user = await ChatClient.connect({ apiUrl });
      const { conversation } = await user.createConversation({});
      return new Conversation(client, user, conversation.id);
    }

    /** Sends a text in a new conversation and returns its event. */
    async function tell(bot: Deployed, text: string): Promise<Event> {
      return (await talk(bot)).say(text);
    }

    function settled({ client }: Deployed, { id }: Pick<Event, 'id'>): Promise<Event> {
      return waitFor(async () => (await client.getEvent({ id })).event, isSettled);
    }

    async function effectsOf(bot: Deployed, { id }: Pick<Event, 'id'>): Promise<Effect[]> {
      return (await bot.served[0]!.effects()).filter(({ eventId }) => eventId === id);
    }

    describe.each(sdks)('of @botpress/sdk, generation %s,', (sdk) => {
      it('answers a message of a user, who hears the answer', async () => {
        const bot = await deployed('echo', sdk);
        const conversation = await talk(bot);
        const listener = await conversation.user.listenConversation({ id: conversation.id });
        listeners.push(listener);
        const heard: unknown[] = [];
        listener.on('message_created', ({ payload, isBot }) => heard.push({ payload, isBot }));

        const event = await conversation.say('tea ☕');

        expect(await settled(bot, event)).toMatchObject({ status: 'processed' });
        expect(await conversation.texts()).toEqual(['tea ☕', 'echo: tea ☕']);
        await waitFor(() => heard.length === 2);
        expect(heard).toEqual([
          { payload: { type: 'text', text: 'tea ☕' }, isBot: false },
          { payload: { type: 'text', text: 'echo: tea ☕' }, isBot: true },
        ]);
        expect(await effectsOf(bot, event)).toMatchObject([{ text: 'tea ☕', conversationId: conversation.id }]);
      });

      it('sends events of their own types to bots', async () => {
        const bot = await deployed('recurring', sdk);

        const { event } = await bot.client.createEvent({ type: 'tick', payload: { fails: false } });

        expect(await settled(bot, event)).toMatchObject({ status: 'processed' });
        expect(await effectsOf(bot, event)).toMatchObject([{ type: 'tick', text: '{"fails":false}' }]);
      });

      it('sends the expiry of a state to a bot', async () => {
        const bot = await deployed('expiry', sdk);
        const conversation = await talk(bot);

        await conversation.say('remember 300');

        await conversation.hears('expired: remember 300');
        const { events } = await bot.client.listEvents({ type: 'state_expired' });
        expect(await settled(bot, events[0]!)).toMatchObject({ status: 'processed' });
      });

      it('repeats an event after errors until the bot handles it', async () => {
        const { bot, twice } = failing[sdk];

        expect(await settled(bot, twice)).toMatchObject({ status: 'processed' });

        expect(await effectsOf(bot, twice)).toHaveLength(3);
      });
    });

    it('fails an event for good with the message of a RuntimeError', async () => {
      const { bot } = failing['5'];

      const event = await tell(bot, 'runtime');

      expect(await settled(bot, event)).toMatchObject({ status: 'failed', failureReason: 'told' });
      expect(await effectsOf(bot, event)).toHaveLength(1);
    });

    it('sends events of its subscriptions only to a bot', async () => {
      const bot = await deployed('echo', '5', { subscriptions: { events: { message_created: {} } } });
      const { event: other } = await bot.client.createEvent({ type: 'happened', payload: {} });

      const message = await tell(bot, 'hello');

      expect(await settled(bot, message)).toMatchObject({ status: 'processed' });
      expect(await settled(bot, other)).toMatchObject({ status: 'ignored' });
      expect((await bot.served[0]!.effects()).map(({ type }) => type)).toEqual(['message_created']);
    });

    it('sends events to a bot that were created before it had a url', async () => {
      const [bot, reached] = [await created(), failing['5'].bot];
      const event = await tell(bot, 'early');
      await settled(reached, await tell(reached, 'hello'));
      const before = (await bot.client.getEvent({ id: event.id })).event;

      await admin.updateBot({ id: bot.botId, url: await serve(bot, 'echo', '5') });

      expect(before.status).toBe('pending');
      expect(await settled(bot, event)).toMatchObject({ status: 'processed' });
      expect(await effectsOf(bot, event)).toMatchObject([{ text: 'early' }]);
    });

    it('sends no events to a blocked bot, and those events later', async () => {
      const [bot, reached] = [await deployed('echo', '5'), failing['5'].bot];
      await admin.updateBot({ id: bot.botId, blocked: true });
      const { event } = await bot.client.createEvent({ type: 'happened', payload: {} });
      await settled(reached, await tell(reached, 'hello'));
      const before = (await bot.client.getEvent({ id: event.id })).event;
      const calls = await effectsOf(bot, event);

      await admin.updateBot({ id: bot.botId, blocked: false });

      expect([before.status, calls]).toEqual(['pending', []]);
      expect(await settled(bot, event)).toMatchObject({ status: 'processed' });
      expect(await effectsOf(bot, event)).toHaveLength(1);
    });

    it('calls an action of the bot while it handles a message', async () => {
      const bot = await deployed('acting', '5');
      const conversation = await talk(bot);

      const event = await conversation.say('1 2');

      expect(await settled(bot, event)).toMatchObject({ status: 'processed' });
      expect(await conversation.texts()).toEqual(['1 2', 'sum: 3']);
      const { output } = await bot.client.callAction({ type: 'add', input: { a: 20, b: 3 } });
      expect(output).toEqual({ sum: 23 });
    });

    it('computes columns of a table by the code of the bot and by its workflow', async () => {
      const bot = await created(definitionOf('acting'));
      await admin.updateBot({ id: bot.botId, code: await readFile(await bundleBot('acting', '5'), 'utf8') });
      const computed = (settings: object) => ({
        type: 'number' as const,
        'x-zui': { computed: { dependencies: ['price'], ...settings } },
      });
      const properties = {
        price: { type: 'number' as const },
        gross: computed({ action: 'code', code: '(row) => row.price * factor' }),
        rating: computed({ action: 'workflow', workflowId: 'rating' }),
      };
      const { table } = await bot.client.createTable({ name: 'goods', schema: { type: 'object', properties } });
      await bot.client.createTableRows({ table: table.id, rows: [{ price: 3 }] });

      const read = async () => (await bot.client.getTableRow({ table: table.id, id: 1 })).row;
      expect(await waitFor(read, ({ rating, gross }) => rating !== null && gross !== null, 60_000)).toMatchObject({
        gross: 6,
        rating: 5,
      });
    });

    it('runs workflows that sleep, wait for a child, or time out', async () => {
      const [sleeping, parent, impatient] = await Promise.all([talk(workflows), talk(workflows), talk(workflows)]);

      await Promise.all([sleeping.say('sleep 300'), parent.say('parent 0'), impatient.say('timeout 1000')]);

      await Promise.all([sleeping.hears('awake'), parent.hears('child finished'), impatient.hears('timed out')]);
      const { workflows: found } = await workflows.client.listWorkflows({ conversationId: impatient.id });
      expect(found).toMatchObject([{ name: 'impatient', status: 'timedout' }]);
    });

    it('runs a workflow of several turns', async () => {
      await counting.hears('counted to 4');

      const { workflows: found } = await workflows.client.listWorkflows({ conversationId: counting.id });
      expect(found).toMatchObject([{ name: 'counting', status: 'completed', output: { turns: 4 } }]);
      const turns = (await workflows.served[0]!.effects()).filter(({ type }) => type.startsWith('counting'));
      expect(turns.map(({ type, concurrent }) => [type, concurrent])).toEqual([
        ['counting workflow_started', 1],
        ...Array.from({ length: 3 }, () => ['counting workflow_continued', 1]),
      ]);
    });
  });
}

/** Conversation of a user of the public chat client with a bot. */
class Conversation {
  constructor(
    private readonly client: Client,
    readonly user: AuthenticatedClient,
    readonly id: string,
  ) {}

  /** Returns the event of the message. */
  async say(text: string): Promise<Event> {
    const { message } = await this.user.createMessage({ conversationId: this.id, payload: { type: 'text', text } });
    const { events } = await this.client.listEvents({ messageId: message.id, type: 'message_created' });
    return events[0]!;
  }

  /** Texts of all messages, oldest first. */
  async texts(): Promise<string[]> {
    const messages = await this.user.list.messages({ conversationId: this.id }).collect();
    return messages.map(({ payload }) => (payload as { text: string }).text).reverse();
  }

  async hears(text: string): Promise<void> {
    await waitFor(
      () => this.texts(),
      (texts) => texts.includes(text),
    );
  }
}
