import type { Client } from '@botpress/client';
import { type ChatBot, type ChatService, failure, startChat } from '../test/chat-service';

type Input = Parameters<Client['initializeIncomingMessage']>[0];

let api: ChatService;
let bot: ChatBot;

beforeAll(async () => {
  api = await startChat();
  bot = await api.newBot();
});

afterAll(() => api?.stop());

let last = 0;

/** Message of a new user in a new conversation, as an integration sends it. */
function newInput(): Input & Required<Pick<Input, 'user' | 'conversation' | 'message'>> {
  const id = `${++last}`;
  return {
    user: { tags: { id }, name: 'Ann', discriminateByTags: ['id'] },
    conversation: { channel: 'direct', tags: { id }, discriminateByTags: ['id'] },
    message: { type: 'text', payload: { text: 'hi' }, tags: { id, part: '1' }, discriminateByTags: ['id'] },
  };
}

async function countOf(client: Client) {
  const { users } = await client.listUsers({});
  const { conversations } = await client.listConversations({});
  return [users.length, conversations.length];
}

it('creates user, conversation and message with its event for an incoming message', async () => {
  const { id, client, asTeam } = await api.newBot();

  const { user, conversation, message } = await asTeam.initializeIncomingMessage(newInput());

  expect(user).toMatchObject({ name: 'Ann', tags: { id: expect.any(String) as string } });
  expect(conversation).toMatchObject({ channel: 'direct', integration: 'team', messageCount: 1 });
  expect(message).toMatchObject({
    ...{ userId: user.id, conversationId: conversation.id, direction: 'incoming', payload: { text: 'hi' } },
    tags: { part: '1' },
  });
  expect((await client.getUser({ id: user.id })).user.tags).toEqual({ 'team:id': user.tags['id'] });
  expect((await client.getConversation({ id: conversation.id })).conversation.messageCount).toBe(1);
  const { events } = await client.listEvents({ messageId: message!.id });
  expect(events).toMatchObject([{ type: 'message_created', userId: user.id, conversationId: conversation.id }]);
  const participants = await client.listParticipants({ id: conversation.id });
  expect(participants.participants.map((participant) => participant.id)).toEqual([user.id]);
  expect(id).toBe((await client.getBot({ id })).bot.id);
});

it('returns the objects with the same identifying tags for a repeated incoming message', async () => {
  const input = newInput();
  const first = await bot.asTeam.initializeIncomingMessage(input);

  const changed = {
    ...input,
    message: { ...input.message, payload: { text: 'again' }, tags: { ...input.message.tags, part: '2' } },
  };
  const second = await bot.asTeam.initializeIncomingMessage(changed);

  expect(second).toEqual(first);
  expect((await bot.client.listEvents({ messageId: first.message!.id })).events).toHaveLength(1);
});

it('creates each object of an incoming message once for concurrent requests', async () => {
  const { client, asTeam } = await api.newBot();
  const input = newInput();

  const replies = await Promise.all(Array.from({ length: 8 }, () => asTeam.initializeIncomingMessage(input)));

  expect(new Set(replies.map(({ message }) => message!.id)).size).toBe(1);
  expect(await countOf(client)).toEqual([1, 1]);
});

it('writes further messages of a known user into a known conversation', async () => {
  const input = newInput();
  const first = await bot.asTeam.initializeIncomingMessage(input);

  const second = await bot.asTeam.initializeIncomingMessage({
    ...input,
    message: { ...input.message, tags: { id: 'second' } },
  });
  const third = await bot.asTeam.initializeIncomingMessage({
    userId: first.user.id,
    conversationId: first.conversation.id,
    message: { ...input.message, tags: { id: 'third' } },
  });

  expect([second.user.id, second.conversation.id]).toEqual([first.user.id, first.conversation.id]);
  expect(third.conversation).toMatchObject({ id: first.conversation.id, messageCount: 3 });
  expect(third.message!.id).not.toBe(second.message!.id);
});

it('creates a message each time for an empty list of identifying tags', async () => {
  const input = newInput();
  const { user, conversation } = await bot.asTeam.initializeIncomingMessage(input);
  const message = { ...input.message, discriminateByTags: [] };
  const write = () =>
    bot.asTeam.initializeIncomingMessage({ userId: user.id, conversationId: conversation.id, message });

  const [one, two] = [await write(), await write()];

  expect(one.message!.id).not.toBe(two.message!.id);
});

it('initializes user and conversation without a message', async () => {
  const { user, conversation } = newInput();

  const reply = await bot.asTeam.initializeIncomingMessage({ user, conversation });

  expect(reply).not.toHaveProperty('message');
  expect(reply.conversation.messageCount).toBe(0);
  expect(await bot.asTeam.initializeIncomingMessage({ user, conversation })).toEqual(reply);
});

it('returns the stored answer of an incoming message for the same idempotency key', async () => {
  const input = newInput();
  const send = () =>
    api.send('POST /v1/chat/initialize-incoming-message', {
      headers: { ...api.headersOf(bot.id), 'x-integration-alias': 'team', 'idempotency-key': 'incoming-1' },
      json: { ...input, message: { ...input.message, discriminateByTags: [] } },
    });

  const [first, second] = [await send(), await send()];

  expect(first.status).toBe(200);
  expect(second.json).toEqual(first.json);
});

it('creates nothing when an incoming message is refused', async () => {
  const { client } = await api.newBot();
  const { user, conversation } = newInput();
  const chat = { ...conversation, channel: 'channel' };
  const message = { type: 'telepathy', payload: {}, tags: {}, discriminateByTags: [] };

  const refused = await failure(client.initializeIncomingMessage({ user, conversation: chat, message }));

  expect(refused.type).toBe('InvalidPayload');
  expect(await countOf(client)).toEqual([0, 0]);
});

it.each<[string, (input: ReturnType<typeof newInput>) => Input, string, string]>([
  ['no author', ({ user: _, ...rest }) => rest, 'InvalidPayload', 'The author is missing: give userId, or user'],
  [
    'no conversation',
    ({ conversation: _, ...rest }) => rest,
    'InvalidPayload',
    'The conversation is missing: give conversationId, or conversation',
  ],
  [
    'an identifying tag without a value',
    ({ user, ...rest }) => ({ ...rest, user: { ...user, discriminateByTags: ['phone'] } }),
    'InvalidPayload',
    'discriminateByTags names "phone" without a value in tags.',
  ],
  [
    'an unknown channel',
    ({ conversation, ...rest }) => ({ ...rest, conversation: { ...conversation, channel: 'pigeon' } }),
    'InvalidPayload',
    'channel "pigeon" not found in integration "team".',
  ],
  [
    'an unknown user',
    ({ user: _, ...rest }) => ({ ...rest, userId: 'user_00000000000000000000000000' }),
    'ReferenceNotFound',
    'userId "user_00000000000000000000000000" not found.',
  ],
  [
    'an unknown conversation',
    ({ conversation: _, ...rest }) => ({ ...rest, conversationId: 'conv_00000000000000000000000000' }),
    'ReferenceNotFound',
    'conversationId "conv_00000000000000000000000000" not found.',
  ],
])('refuses an incoming message with %s', async (_case, change, type, begins) => {
  const refused = await failure(bot.asTeam.initializeIncomingMessage(change(newInput())));

  expect(refused.type).toBe(type);
  expect(refused.message).toContain(begins);
});

it('does not find users and conversations of another bot for an incoming message', async () => {
  const { user, conversation } = await bot.asTeam.initializeIncomingMessage(newInput());
  const other = await api.newBot();
  const input = newInput();

  const refused = [
    other.asTeam.initializeIncomingMessage({ ...input, userId: user.id }),
    other.asTeam.initializeIncomingMessage({ ...input, conversationId: conversation.id }),
  ];

  for (const refusal of refused) await expect(refusal).rejects.toMatchObject({ type: 'ReferenceNotFound' });
  expect(await countOf(other.client)).toEqual([0, 0]);
});
