import { Client } from '@botpress/client';
import { type ChatService, failure, startChat } from '../test/chat-service';

type Content = Pick<Parameters<Client['createMessage']>[0], 'type' | 'payload'>;

let api: ChatService;
let client: Client;
let botId: string;
let asTeam: Client;
let sender: { conversationId: string; userId: string };

beforeAll(async () => {
  api = await startChat();
  ({ client, asTeam, id: botId } = await api.newBot());
  const { conversation } = await client.createConversation({ channel: 'channel', tags: {}, integrationName: 'chat' });
  sender = { conversationId: conversation.id, userId: (await client.createUser({ tags: {} })).user.id };
});

afterAll(() => api?.stop());

const ways: [string, string, (content: Content, at: typeof sender) => Promise<unknown>][] = [
  ['created', '', (content, at) => client.createMessage({ ...at, ...content, tags: {} })],
  [
    'created with an idempotency key',
    '',
    (content, at) =>
      new Client({
        ...{ apiUrl: api.url, token: api.alice.token, botId },
        headers: { 'idempotency-key': `k${Math.random()}` },
      }).createMessage({ ...at, ...content, tags: {} }),
  ],
  ['gotten or created', '', (content, at) => client.getOrCreateMessage({ ...at, ...content, tags: {} })],
  [
    'scheduled',
    '',
    (content, at) => client.createMessage({ ...at, ...content, tags: {}, schedule: { delay: 3_600_000 } }),
  ],
  [
    'imported',
    'messages[1].',
    (content, at) =>
      client.importMessages({
        messages: [{ type: 'text', payload: { text: 'fine' } }, content].map((each) => ({
          ...{ ...at, ...each, tags: {} },
          ...{ createdAt: '2026-01-01T00:00:00.000Z', discriminateByTags: [] },
        })),
      }),
  ],
];

const stored = () =>
  api.sql(
    'SELECT id FROM chat.message WHERE conversation_id = $1 UNION ALL SELECT id FROM chat.scheduled_message WHERE conversation_id = $1',
    [sender.conversationId],
  );
const text = { type: 'text', payload: { text: 'x' } };
const card = { title: 'T', actions: [{ action: 'url', label: 'a', value: 'b' }] };

describe.each(ways)('a message of the native chat that is %s', (_way, prefix, write) => {
  it.each<[string, Content, string]>([
    [
      'an unknown type',
      { type: 'nonsense', payload: {} },
      'type must be one of: text, markdown, image, audio, video, file, location, card, carousel, choice, dropdown, bloc.',
    ],
    ['no text', { type: 'text', payload: {} }, 'payload.text is missing.'],
    ['an empty text', { type: 'text', payload: { text: '' } }, 'payload.text must be a string that is not empty.'],
    ['no url', { type: 'image', payload: { url: 'x' } }, 'payload.imageUrl is missing.'],
    [
      'a wrong part',
      { type: 'bloc', payload: { items: [{ type: 'text', payload: {} }] } },
      'payload.items[0].text is missing.',
    ],
    ['no list', { type: 'carousel', payload: { items: 'x' } }, 'payload.items must be an array.'],
    [
      'metadata that is a text',
      { type: 'text', payload: { text: 'x', metadata: 'y' } },
      'payload.metadata must be an object.',
    ],
  ])('rejects a message of the native chat with %s, and writes nothing', async (_case, content, message) => {
    const before = await stored();

    expect(await failure(write(content, sender))).toEqual({ type: 'InvalidPayload', message: `${prefix}${message}` });

    expect(await stored()).toEqual(before);
  });

  it.each<[string, Content]>([
    ['a text', text],
    ['more than the type knows', { type: 'text', payload: { text: 'x', value: 'y', metadata: { a: 1 } } }],
    ['optional fields that are empty', { type: 'card', payload: { ...card, subtitle: '', imageUrl: null } }],
    ['cards without a type', { type: 'carousel', payload: { items: [card] } }],
    ['parts as bots have them', { type: 'bloc', payload: { items: [{ type: 'text', payload: { text: 'x' } }] } }],
    ['choices', { type: 'choice', payload: { text: 'x', options: [{ label: 'a', value: 'b' }] } }],
  ])('accepts a message of the native chat with %s', async (_case, content) => {
    await expect(write(content, sender)).resolves.toBeDefined();
  });

  it('does not validate a message for a conversation that is not found', async () => {
    const other = await api.newBot();
    const foreign = await other.client.createConversation({ channel: 'channel', tags: {}, integrationName: 'chat' });

    for (const conversationId of [`conv_${'0'.repeat(26)}`, foreign.conversation.id]) {
      expect(await failure(write({ type: 'text', payload: {} }, { ...sender, conversationId }))).toEqual({
        type: 'ReferenceNotFound',
        message: `${prefix.replace('1', '0')}conversationId "${conversationId}" not found.`,
      });
    }
  });
});

it('validates messages of the bot and updates of the payload', async () => {
  const { message } = await client.createMessage({ ...sender, userId: botId, ...text, tags: {} });

  expect(await failure(client.updateMessage({ id: message.id, payload: {} }))).toEqual({
    type: 'InvalidPayload',
    message: 'payload.text is missing.',
  });
  await client.updateMessage({ id: message.id, payload: { text: 'y' }, tags: {} });
  expect(
    (await failure(client.createMessage({ ...sender, userId: botId, type: 'x', payload: {}, tags: {} }))).type,
  ).toBe('InvalidPayload');
});

it('finds and updates a message that was stored before there was validation', async () => {
  const { message } = await client.createMessage({ ...sender, ...text, tags: { n: '1' } });
  await api.sql("UPDATE chat.message SET type = 'old', payload = '{}' WHERE id = $1", [message.id]);

  const found = await client.getOrCreateMessage({ ...sender, type: 'old', payload: {}, tags: { n: '1' } });
  const updated = await client.updateMessage({ id: message.id, payload: { a: 1 } });

  expect(found).toMatchObject({ message: { id: message.id }, meta: { created: false } });
  expect(updated.message.payload).toEqual({ a: 1 });
});

it('does not validate messages of other integrations, which cannot find conversations of the chat', async () => {
  const { conversation } = await asTeam.createConversation({ channel: 'group', tags: {} });
  const { user } = await asTeam.createUser({ tags: {} });
  const content = { userId: user.id, type: 'custom', payload: {}, tags: {} };

  expect((await asTeam.createMessage({ ...content, conversationId: conversation.id })).message.type).toBe('custom');
  await client.createMessage({ ...sender, ...text, tags: {} });
  expect((await failure(asTeam.createMessage({ ...content, conversationId: sender.conversationId }))).type).toBe(
    'ReferenceNotFound',
  );
});
