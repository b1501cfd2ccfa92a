import type { Payload } from './chat-api';

/** Types that browsers show in place; an SVG may contain links and scripts. */
const picture = /^image\/(?!svg)/;

/** Message that carries an uploaded file. */
export function payloadOf({ name, type }: Pick<File, 'name' | 'type'>, url: string): Payload {
  if (picture.test(type)) return { type: 'image', imageUrl: url };
  if (type.startsWith('audio/')) return { type: 'audio', audioUrl: url };
  if (type.startsWith('video/')) return { type: 'video', videoUrl: url };
  return { type: 'file', fileUrl: url, title: name };
}
