import { list, object } from '../schemas';

/** Non-empty string. */
export const text = { type: 'string', minLength: 1 };

const option = object({ label: text, value: text });
const cardAction = object({ action: { type: 'string', enum: ['postback', 'url', 'say'] }, label: text, value: text });
const choice = object({ text, options: list(option) });

/** Message payloads by type, which may also be parts of other messages. */
export const simplePayloads = {
  text: object({ text }),
  markdown: object({ markdown: text }),
  image: object({ imageUrl: text }),
  audio: object({ audioUrl: text }),
  video: object({ videoUrl: text }),
  file: object({ fileUrl: text, title: { type: 'string' } }, ['title']),
  location: object(
    {
      latitude: { type: 'number' },
      longitude: { type: 'number' },
      address: { type: 'string' },
      title: { type: 'string' },
    },
    ['address', 'title'],
  ),
};

export const card = object(
  { title: text, subtitle: { type: 'string' }, imageUrl: { type: 'string' }, actions: list(cardAction) },
  ['subtitle', 'imageUrl'],
);

export const choices = { choice, dropdown: choice };
