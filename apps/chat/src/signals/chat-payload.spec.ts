import type { ChatPayload } from '@parley/contracts/chat/chat-payload';
import * as fc from 'fast-check';
import { toChatContent, toChatMessage, toContent } from './chat-payload';

const action = { action: 'say' as const, label: 'Tea', value: 'tea' };
const card = { type: 'card' as const, title: 'Tea', actions: [action] };
const { type: _type, ...bareCard } = card;
const option = { label: 'Tea', value: 'tea' };

const payloads: ChatPayload[] = [
  { type: 'text', text: 'hello' },
  { type: 'markdown', markdown: '**hello**' },
  { type: 'image', imageUrl: 'https://example.com/a.png' },
  { type: 'audio', audioUrl: 'https://example.com/a.mp3' },
  { type: 'video', videoUrl: 'https://example.com/a.mp4' },
  { type: 'file', fileUrl: 'https://example.com/a.pdf', title: 'A' },
  { type: 'location', latitude: 0, longitude: -13.4, address: 'Berlin' },
  card,
  { type: 'carousel', items: [card, card] },
  { type: 'choice', text: 'Which?', options: [option] },
  { type: 'dropdown', text: 'Which?', options: [option] },
  {
    type: 'bloc',
    items: [
      { type: 'text', text: 'a' },
      { type: 'location', latitude: 1, longitude: 2 },
    ],
  },
];

describe('a payload of the chat endpoint', () => {
  it.each(payloads.map((payload) => [payload.type, payload] as const))(
    'keeps a payload of type %s with its metadata through the round trip',
    (_name, payload) => {
      expect(toChatContent(toContent({ payload }))).toEqual({ payload });
      expect(toChatContent(toContent({ payload, metadata: { a: { b: 1 } } }))).toEqual({
        payload,
        metadata: { a: { b: 1 } },
      });
    },
  );

  it('stores a payload in the bot format: type beside the payload, metadata inside it', () => {
    expect(toContent({ payload: { type: 'text', text: 'hello' }, metadata: { a: 1 } })).toEqual({
      type: 'text',
      payload: { text: 'hello', metadata: { a: 1 } },
    });
    expect(toContent({ payload: { type: 'bloc', items: [{ type: 'text', text: 'a' }] } })).toEqual({
      type: 'bloc',
      payload: { items: [{ type: 'text', payload: { text: 'a' } }] },
    });
    expect(toContent({ payload: { type: 'carousel', items: [card] } })).toEqual({
      type: 'carousel',
      payload: { items: [bareCard] },
    });
  });

  it('omits empty metadata of a payload', () => {
    expect(toContent({ payload: { type: 'text', text: 'a' }, metadata: {} }).payload).toEqual({ text: 'a' });
    for (const metadata of [{}, null, 'x', [1], undefined]) {
      const content = toChatContent({ type: 'text', payload: { text: 'a', metadata } });
      expect(Object.keys(content)).toEqual(['payload']);
    }
  });
});

describe('content stored by a bot', () => {
  it.each([
    ['carousel', { items: [bareCard] }, { items: [card] }],
    ['carousel', {}, { items: [] }],
    ['bloc', { items: [{ type: 'text', payload: { text: 'a' } }] }, { items: [{ type: 'text', text: 'a' }] }],
    ['bloc', { items: [{ type: 'text', text: 'a' }] }, { items: [{ type: 'text', text: 'a' }] }],
    ['card', { title: 'Tea', subtitle: '', imageUrl: null }, { title: 'Tea', actions: [] }],
    ['file', { fileUrl: 'x', title: '' }, { fileUrl: 'x' }],
    ['image', { imageUrl: 'x', title: 'a cat' }, { imageUrl: 'x' }],
    ['choice', { text: 'Which?' }, { text: 'Which?', options: [] }],
    ['text', { text: 'a', type: 'custom' }, { text: 'a' }],
  ])('shows content of a bot in the client format: %s %j', (type, payload, shown) => {
    expect(toChatContent({ type, payload }).payload).toEqual({ type, ...shown });
  });

  it.each([
    ['custom', { url: 'x', name: null }, { type: 'custom', url: 'x', name: null }],
    ['text', {}, { type: 'text' }],
    ['carousel', { items: 'none' }, { type: 'carousel', items: 'none' }],
    [
      'bloc',
      { items: [1, { type: 'chart', payload: { a: 1 } }] },
      { type: 'bloc', items: [1, { type: 'chart', a: 1 }] },
    ],
  ])('shows content of a bot unchanged when it fits no type: %s %j', (type, payload, shown) => {
    expect(toChatContent({ type, payload }).payload).toEqual(shown);
  });

  it('shows any content of a bot', () => {
    const types = fc.oneof(fc.constantFrom(...payloads.map(({ type }) => type)), fc.string());
    const fields = fc.constantFrom('items', 'options', 'actions', 'text', 'title', 'metadata', 'type', 'payload');
    const stored = fc.oneof(fc.dictionary(fields, fc.jsonValue()), fc.jsonValue());

    fc.assert(
      fc.property(types, stored, (type, payload) => {
        const content = toChatContent({ type, payload: payload as Record<string, unknown> });
        expect(content.payload.type).toBe(type);
      }),
    );
  });
});

it('shows a message with its time in UTC and without undefined keys', () => {
  const message = toChatMessage({
    id: 'msg_1',
    createdAt: new Date('2026-01-31T12:00:00+02:00'),
    type: 'text',
    payload: { text: 'hello', metadata: null },
    userId: 'ada',
    conversationId: 'tea',
  });

  expect(message).toStrictEqual({
    id: 'msg_1',
    createdAt: '2026-01-31T10:00:00.000Z',
    payload: { type: 'text', text: 'hello' },
    userId: 'ada',
    conversationId: 'tea',
  });
});
