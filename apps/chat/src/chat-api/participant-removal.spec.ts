import { type AuthenticatedClient, Client as ChatClient } from '@botpress/chat';
import { lockWaits } from '@parley/testing/lock-waits';
import { waitFor } from '@parley/testing/wait-for';
import { type ChatService, failure, startChat } from '../test/chat-service';

let api: ChatService;
let botId: string;
let apiUrl: string;
let ann: AuthenticatedClient;

beforeAll(async () => {
  api = await startChat();
  const { bot } = await api.alice.client.createBot({});
  botId = bot.id;
  apiUrl = `${api.url}/chat/${Object.values(bot.integrations)[0]!.webhookId}`;
  ann = await ChatClient.connect({ apiUrl });
});

afterAll(() => api?.stop());

const waiting = () => lockWaits({ query: api.sql });

/** Queues both operations on the clock lock in this order, then releases it. */
async function inTurn(conversationId: string, first: () => Promise<unknown>, second: () => Promise<unknown>) {
  await api.sql('BEGIN');
  await api.sql('SELECT 1 FROM chat.conversation_clock WHERE conversation_id = $1 FOR UPDATE', [conversationId]);
  const one = first();
  await waitFor(async () => (await waiting()) === 1);
  const other = failure(second());
  await waitFor(async () => (await waiting()) === 2);
  await api.sql('COMMIT');
  await one;
  return other;
}

describe('a queued message whose author is removed before it is written', () => {
  it('rejects a queued message of a removed author, even if other users take part', async () => {
    const bob = await ChatClient.connect({ apiUrl });
    const { conversation } = await ann.createConversation({});
    await ann.addParticipant({ conversationId: conversation.id, userId: bob.user.id });

    const late = await inTurn(
      conversation.id,
      () => ann.removeParticipant({ conversationId: conversation.id, userId: bob.user.id }),
      () => bob.createMessage({ conversationId: conversation.id, payload: { type: 'text', text: 'late' } }),
    );

    expect(late.type).toBe('Forbidden');
    expect((await ann.listMessages({ conversationId: conversation.id })).messages).toEqual([]);
  });

  it('rejects a queued message of a deleted author', async () => {
    const bob = await ChatClient.connect({ apiUrl });
    const { conversation } = await ann.createConversation({});
    await ann.addParticipant({ conversationId: conversation.id, userId: bob.user.id });

    const late = await inTurn(
      conversation.id,
      () => bob.deleteUser({}),
      () => bob.createMessage({ conversationId: conversation.id, payload: { type: 'text', text: 'late' } }),
    );

    expect(late.type).not.toBe('none');
    expect((await ann.listMessages({ conversationId: conversation.id })).messages).toEqual([]);
  });

  it('writes a queued message when another user was removed', async () => {
    const bob = await ChatClient.connect({ apiUrl });
    const { conversation } = await ann.createConversation({});
    await ann.addParticipant({ conversationId: conversation.id, userId: bob.user.id });

    const late = await inTurn(
      conversation.id,
      () => ann.removeParticipant({ conversationId: conversation.id, userId: bob.user.id }),
      () => ann.createMessage({ conversationId: conversation.id, payload: { type: 'text', text: 'mine' } }),
    );

    expect(late.type).toBe('none');
    expect((await ann.listMessages({ conversationId: conversation.id })).messages).toHaveLength(1);
  });
});

describe('a queued message whose author joins before it is written', () => {
  it('does not send participant_added again for a queued message whose author joins before', async () => {
    const bob = await ChatClient.connect({ apiUrl });
    const { conversation } = await ann.createConversation({});
    const client = api.client(api.alice.token, api.alice.workspaceId, botId);
    const message = {
      conversationId: conversation.id,
      userId: bob.user.id,
      type: 'text',
      payload: { text: 'x' },
      tags: {},
    };

    await inTurn(
      conversation.id,
      () => ann.addParticipant({ conversationId: conversation.id, userId: bob.user.id }),
      () => client.createMessage(message),
    );

    expect(
      await api.sql('SELECT number::int, type FROM chat.signal WHERE conversation_id = $1 ORDER BY number', [
        conversation.id,
      ]),
    ).toEqual([
      { number: 1, type: 'participant_added' },
      { number: 2, type: 'message_created' },
    ]);
  });
});
