import { readFile } from 'node:fs/promises';
import { type AuthenticatedClient, Client as ChatClient } from '@botpress/chat';
import { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import type { RunningPlatform } from '@parley/testing/running-platform';
import { waitFor } from '@parley/testing/wait-for';
import { bundleBot } from '../support/bots';
import { deskIntegration, handoffPlugin, hitlInterface } from './handover-definitions';
import { type AgentRequest, defaultMessages, deskAlias, implementation, pluginAlias } from './handover-names';

export function describeHandover(running: () => RunningPlatform): void {
  describe('a bot that hands conversations over to agents', () => {
    let bot: Client;
    let chatUrl: string;
    let webhookUrl: string;

    beforeAll(async () => {
      const admin = clientOf(running());
      const [botCode, deskCode] = await Promise.all(
        (['handover', 'desk'] as const).map(async (name) => readFile(await bundleBot(name, '5'), 'utf8')),
      );
      const { id } = (await admin.createInterface(hitlInterface)).interface;
      const integration = await admin.createIntegration({
        ...{ ...deskIntegration, code: deskCode },
        interfaces: { hitl: { id, ...implementation } },
      });
      const integrationId = integration.integration.id;
      const dependencies = { interfaces: { hitl: { id } } };
      const { plugin } = await admin.createPlugin({
        ...{ ...handoffPlugin, dependencies, code: { node: 'module.exports = {}', browser: '' } },
      });
      const created = await admin.createBot({ code: botCode });
      const { url: apiUrl, token, workspaceId } = running();
      const headers = { 'x-multiple-integrations': 'true' };
      const { bot: updated } = await new Client({ apiUrl, token, workspaceId, headers }).updateBot({
        id: created.bot.id,
        integrations: { [deskAlias]: { integrationId, enabled: true } },
        plugins: {
          [pluginAlias]: {
            id: plugin.id,
            interfaces: { hitl: { integrationId, integrationAlias: deskAlias, integrationInterfaceAlias: 'hitl' } },
          },
        },
      });
      bot = clientOf(running(), created.bot.id);
      chatUrl = Object.values(created.bot.integrations)[0]!.webhookUrl;
      webhookUrl = updated.integrations[deskAlias]!.webhookUrl;
    });

    async function newUser(): Promise<BotUser> {
      const client = await ChatClient.connect({ apiUrl: chatUrl });
      const { conversation } = await client.createConversation({});
      return new BotUser(client, conversation.id);
    }

    /** New user in a session that waits for an agent. */
    async function handedOver() {
      const user = await newUser();
      return { user, session: await handOver(user) };
    }

    /** Id of the conversation of the desk. */
    async function handOver(user: BotUser): Promise<string> {
      await user.say('human');
      await user.hears(defaultMessages.handedOver);
      return sessionOf(user);
    }

    function sessionOf(user: BotUser, { not }: { not?: string } = {}): Promise<string> {
      return waitFor(
        async () => (await bot.getConversation({ id: user.conversationId })).conversation.tags[tag('downstream')]!,
        (id) => Boolean(id) && id !== not,
      );
    }

    async function agent(
      conversationId: string,
      request: Omit<AgentRequest, 'conversationId' | 'agent'>,
    ): Promise<{ userId: string }> {
      const body = JSON.stringify({ conversationId, agent: 'Bob', ...request } satisfies AgentRequest);
      const response = await fetch(webhookUrl, { method: 'POST', body });
      if (!response.ok) throw new Error(`The desk returned ${response.status}: ${await response.text()}`);
      return (await response.json()) as { userId: string };
    }

    /** Texts that the desk has shown to agents, with the user on whose behalf. */
    async function shown(conversationId: string) {
      const { messages } = await bot.listMessages({ conversationId });
      const acknowledged = messages.filter(({ tags }) => tags[deskTag('shownAs')] !== undefined);
      return acknowledged.map(({ payload, tags }) => [payload['text'], tags[deskTag('shownAs')]]).reverse();
    }

    it('hands a conversation over with the default message, and its history to the desk', async () => {
      const user = await newUser();
      await user.say('hello');
      await user.hears('bot: hello');

      const session = await handOver(user);

      const { tags } = (await bot.getUser({ id: user.id })).user;
      const by = { type: 'user', userId: tags[tag('downstream')] };
      expect(await agent(session, { ask: 'ticket' })).toEqual({
        userId: by.userId,
        title: 'Needs a person',
        messageHistory: [
          { source: by, type: 'text', payload: { text: 'hello' } },
          { source: { type: 'bot' }, type: 'text', payload: { text: 'bot: hello' } },
          { source: by, type: 'text', payload: { text: 'human' } },
          { source: { type: 'bot' }, type: 'text', payload: { type: 'text', text: defaultMessages.handedOver } },
        ],
      });
    });

    it('tells the user that an agent joins, and carries messages in both directions past the bot', async () => {
      const { user, session } = await handedOver();

      const { userId: agentId } = await agent(session, { ask: 'join' });
      await user.hears(defaultMessages.assigned);
      await user.say('my tea is cold');
      await waitFor(
        () => shown(session),
        (lines) => lines.length === 1,
      );
      await agent(session, { ask: 'say', text: 'I bring another one' });
      await user.hears('I bring another one');

      const { tags } = (await bot.getUser({ id: user.id })).user;
      expect(await shown(session)).toEqual([['my tea is cold', tags[tag('downstream')]]]);
      expect(await user.texts()).toEqual([
        ...['human', defaultMessages.handedOver, defaultMessages.assigned],
        ...['my tea is cold', 'I bring another one'],
      ]);
      const { conversation } = await bot.getConversation({ id: user.conversationId });
      expect(conversation.tags).toMatchObject({ [tag('humanAgentId')]: agentId, [tag('humanAgentName')]: 'Bob' });
    });

    it('returns the conversation to the bot when the agent leaves, and opens a second session for the same user', async () => {
      const { user, session } = await handedOver();
      await agent(session, { ask: 'leave' });
      await user.hears(defaultMessages.stopped);
      await user.say('hello again');
      await user.hears('bot: hello again');

      await user.say('human');
      const second = await sessionOf(user, { not: session });

      const tickets = await Promise.all([session, second].map((id) => agent(id, { ask: 'ticket' })));
      expect(tickets[1]!.userId).toBe(tickets[0]!.userId);
      await user.hears(defaultMessages.handedOver);
      await agent(session, { ask: 'say', text: 'said in the session that has ended' });
      await agent(second, { ask: 'say', text: 'what is it now?' });
      await user.hears('what is it now?');
      expect(await user.texts()).not.toContain('said in the session that has ended');
    });

    it('returns the conversation to the bot when no agent joins in time', async () => {
      const user = await newUser();
      await user.say('human 1');
      const session = await sessionOf(user);

      await user.hears(defaultMessages.timedOut);

      expect(await shown(session)).toEqual([[defaultMessages.cancelled, 'the bot']]);
      expect((await bot.getConversation({ id: session })).conversation.tags).toMatchObject({
        [deskTag('closed')]: 'timeout',
      });
      await user.say('hello');
      await user.hears('bot: hello');
    });

    it('ends a session by an action of the plugin', async () => {
      const { user, session } = await handedOver();

      await bot.callAction({ type: tag('stopHitl'), input: { conversationId: user.conversationId } });

      expect((await bot.getConversation({ id: session })).conversation.tags).toMatchObject({
        [deskTag('closed')]: 'by the bot',
      });
      await user.say('hello');
      await user.hears('bot: hello');
    });
  });
}

const tag = (name: string) => `${pluginAlias}#${name}`;
const deskTag = (name: string) => `${deskAlias}:${name}`;

/** User of the public chat client in one conversation. */
class BotUser {
  readonly id: string;

  constructor(
    private readonly client: AuthenticatedClient,
    readonly conversationId: string,
  ) {
    this.id = client.user.id;
  }

  async say(text: string): Promise<void> {
    await this.client.createMessage({ conversationId: this.conversationId, payload: { type: 'text', text } });
  }

  /** Texts of all messages, oldest first. */
  async texts(): Promise<string[]> {
    const messages = await this.client.list.messages({ conversationId: this.conversationId }).collect();
    return messages.map(({ payload }) => (payload as { text: string }).text).reverse();
  }

  async hears(text: string): Promise<void> {
    await waitFor(
      () => this.texts(),
      (texts) => texts.at(-1) === text,
    );
  }
}
