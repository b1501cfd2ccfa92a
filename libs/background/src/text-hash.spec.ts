import { createHash } from 'node:crypto';
import { hashText } from './text-hash';

it.each([
  ['an empty text', ''],
  ['a short text', 'Grüße'],
  ['a long text', 'x'.repeat(2_500_000)],
  ['a text that would be parted within a character', `x${'😀'.repeat(1_200_000)}`],
])('returns the SHA-256 of %s', async (_what, text) => {
  expect(await hashText(text)).toEqual(createHash('sha256').update(text).digest());
});
