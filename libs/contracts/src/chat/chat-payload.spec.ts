import { problemsOf, toInstance } from '../fields';
import { componentSchemas } from '../json-schema';
import { IsChatPayload, type ChatPayload } from './chat-payload';

class Post {
  @IsChatPayload()
  payload!: ChatPayload;
}

const read = (payload: unknown) => toInstance(Post, { payload }) as Post;
const problems = (payload: unknown) => problemsOf(read(payload));

const action = { action: 'say', label: 'Tea', value: 'tea' };
const card = { type: 'card', title: 'Tea', actions: [action] };
const option = { label: 'Tea', value: 'tea' };
const text = { type: 'text', text: 'hello' };

const payloads = {
  text,
  markdown: { type: 'markdown', markdown: '**hello**' },
  image: { type: 'image', imageUrl: 'https://example.com/a.png' },
  audio: { type: 'audio', audioUrl: 'https://example.com/a.mp3' },
  video: { type: 'video', videoUrl: 'https://example.com/a.mp4' },
  file: { type: 'file', fileUrl: 'https://example.com/a.pdf', title: 'A' },
  location: { type: 'location', latitude: 52.5, longitude: -13.4, address: 'Berlin', title: 'Home' },
  card: { ...card, subtitle: 'green', imageUrl: 'https://example.com/tea.png' },
  carousel: { type: 'carousel', items: [card, card] },
  choice: { type: 'choice', text: 'Which?', options: [option] },
  dropdown: { type: 'dropdown', text: 'Which?', options: [] },
  bloc: { type: 'bloc', items: [text, { type: 'location', latitude: 1, longitude: 2 }] },
};

describe('a payload of the chat endpoint', () => {
  it.each(Object.entries(payloads))('accepts a payload of type %s unchanged', (_type, payload) => {
    expect(problems(payload)).toEqual([]);
    expect(read(payload).payload).toEqual(payload);
  });

  it.each(Object.entries(payloads))('drops unknown fields from a payload of type %s', (_type, payload) => {
    expect(read({ ...payload, extra: { deep: 1 }, toString: 'x', ['__proto__']: 'y' }).payload).toEqual(payload);
  });

  it('drops unknown fields of a payload at every depth', () => {
    const payload = {
      type: 'carousel',
      items: [{ ...card, extra: 1, actions: [{ ...action, extra: 1 }] }],
    };

    expect(read(payload).payload).toEqual({ type: 'carousel', items: [card] });
  });

  it.each<[unknown, string]>([
    [undefined, 'payload is missing'],
    [null, 'payload must be an object'],
    ['text', 'payload must be an object'],
    [[text], 'payload must be an object'],
    [
      { type: 'custom', url: 'x' },
      'payload.type must be one of: text, markdown, image, audio, video, file, location, card, carousel, choice, dropdown, bloc',
    ],
    [{ ...payloads.bloc, items: [text, card] }, 'payload.items[1].type must be one of: text, markdown, image, audio'],
    [{ type: 'text' }, 'payload.text is missing'],
    [{ type: 'text', text: '' }, 'payload.text must be a string that is not empty'],
    [{ type: 'text', text: 1 }, 'payload.text must be a string that is not empty'],
    [{ type: 'text', text: null }, 'payload.text must be a string that is not empty'],
    [{ type: 'file', fileUrl: 'x', title: '' }, 'payload.title must be a string that is not empty'],
    [{ type: 'file', fileUrl: 'x', title: null }, 'payload.title must be a string that is not empty'],
    [{ type: 'location', latitude: 1 }, 'payload.longitude is missing'],
    [{ type: 'location', latitude: '1', longitude: 2 }, 'payload.latitude must be a number'],
    [{ type: 'location', latitude: Infinity, longitude: 2 }, 'payload.latitude must be a number'],
    [{ type: 'card', title: 'Tea' }, 'payload.actions is missing'],
    [
      { ...card, actions: [{ ...action, action: 'fly' }] },
      'payload.actions[0].action must be one of: postback, url, say',
    ],
    [{ ...payloads.choice, options: [option, { value: 'x' }] }, 'payload.options[1].label is missing'],
    [{ ...payloads.choice, options: {} }, 'payload.options must be an array'],
    [{ ...payloads.choice, options: ['tea'] }, 'payload.options[0] must be an object'],
    [{ type: 'carousel', items: [{ ...card, type: 'text' }] }, 'payload.items[0].type must be one of: card'],
    [{ type: 'carousel', items: [card, { ...card, title: 1 }] }, 'payload.items[1].title must be a string'],
    [{ type: 'text', text: 'x'.repeat(129 * 1024) }, 'payload must be at most 131072 bytes of JSON'],
  ])('rejects a payload with a message that names the problem: %#', (payload, problem) => {
    expect(problems(payload)).toEqual([expect.stringContaining(problem)]);
  });

  it.each(Object.entries(payloads))(
    'requires each field of a payload of type %s that is not optional',
    (_type, payload) => {
      const optional = ['address', 'subtitle'];
      if (payload.type !== 'card') optional.push('title');
      if (payload.type === 'card') optional.push('imageUrl');

      for (const name of Object.keys(payload)) {
        const { [name]: _left, ...rest } = payload as Record<string, unknown>;
        expect({ name, problems: problems(rest).length }).toEqual({ name, problems: optional.includes(name) ? 0 : 1 });
      }
    },
  );

  it('accepts a payload of exactly the maximum number of bytes', () => {
    const frame = Buffer.byteLength(JSON.stringify({ type: 'text', text: '' }));
    const largest = 'ü'.repeat((128 * 1024 - frame) / 2);

    expect(problems({ type: 'text', text: largest })).toEqual([]);
    expect(problems({ type: 'text', text: `${largest}ü` })).toEqual([expect.stringContaining('131072')]);
  });

  it('documents all types of payloads', () => {
    const { payload } = componentSchemas()['Post']!['properties'] as Record<string, { oneOf: object[] }>;

    expect(payload!.oneOf).toHaveLength(12);
  });
});
