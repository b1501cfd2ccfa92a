import { ApiError } from '@parley/contracts/errors';

const maxBytes = 1024 * 1024;
const base64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** Magic bytes of the image types that browsers show. */
const imageTypes: [string, RegExp][] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
  ['image/svg+xml', /^(\xef\xbb\xbf)?\s*<(\?xml|!--|!DOCTYPE svg|svg)/i],
];

/** Converts a base64 icon, as the CLI sends it, to a data URL. Throws InvalidPayload unless it is a small image. */
export function toIconUrl(icon: string): string {
  const content = read(icon, 'icon');
  if (content.length === 0) return '';
  const start = content.subarray(0, 100).toString('latin1');
  const [type] = imageTypes.find(([, beginning]) => beginning.test(start)) ?? [];
  if (!type) throw new ApiError('InvalidPayload', 'icon must be base64 of a PNG, JPEG, GIF, WebP or SVG image.');
  return `data:${type};base64,${content.toString('base64')}`;
}

/** Converts a base64 readme to a data URL. Throws InvalidPayload when it is too large. */
export function toReadmeUrl(readme: string): string {
  const content = read(readme, 'readme');
  return content.length === 0 ? '' : `data:text/markdown;charset=utf-8;base64,${content.toString('base64')}`;
}

export function isBase64(text: string): boolean {
  return base64.test(withoutSpace(text));
}

function withoutSpace(text: string): string {
  return text.replaceAll(/\s/g, '');
}

function read(text: string, field: string): Buffer {
  const compact = withoutSpace(text);
  if (!base64.test(compact)) throw new ApiError('InvalidPayload', `${field} must be base64.`);
  const content = Buffer.from(compact, 'base64');
  if (content.length > maxBytes) throw new ApiError('InvalidPayload', `${field} must be at most ${maxBytes} bytes.`);
  return content;
}
