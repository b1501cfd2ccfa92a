import { decodeSlices, decodeText } from './decode-text';
import { lines } from './lines';
import { parseText } from './parse-text';

const text = 'Käse 🧀\r\nzwei\rdrei\n日本\r';

it.each<[string, Buffer, string | undefined]>([
  ['UTF-8', Buffer.from(text), undefined],
  ['UTF-8 with a mark', Buffer.from(`\uFEFF${text}`), undefined],
  ['UTF-16 little endian', Buffer.from(`\uFEFF${text}`, 'utf16le'), undefined],
  ['UTF-16 big endian', Buffer.from(`\uFEFF${text}`, 'utf16le').swap16(), undefined],
  ['windows-1252', Buffer.from('caf\xe9\r\n\x80 5\r', 'latin1'), undefined],
  ['Shift_JIS', Buffer.from([0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea, 0x0d, 0x0a]), 'shift_jis'],
])('decodes %s to the same text for any slice size', (_, bytes, charset) => {
  const whole = decodeText(bytes, charset);

  expect(whole).not.toMatch(/[\uFFFD\r]/);
  for (const size of [1, 2, 3, 5, 8]) {
    const slices = [...decodeSlices(bytes, charset, size)];
    expect(slices.join('')).toBe(whole);
    expect(slices.some((slice) => /\p{Surrogate}/u.test(slice))).toBe(false);
  }
});

it('yields the same lines and paragraphs for any slice size', () => {
  const slices = [...'one\ntwo\n\n \nthree words here\n'];

  expect([...lines(slices)]).toEqual(['one', 'two', '', ' ', 'three words here']);
  expect([...parseText(slices)]).toEqual([...parseText([slices.join('')])]);
});

it('splits a line that is too long between two words', () => {
  const words = 'word '.repeat(1000);

  const parts = [...lines([...words], 100)];

  expect(parts.join('')).toBe(words);
  expect(parts.every((part) => part.length <= 102 && part.endsWith(' '))).toBe(true);
});

it('splits a paragraph of 20 MB at line ends', () => {
  const blocks = [...parseText(['a line of it\n'.repeat(1_600_000)])];

  expect(blocks.length).toBeGreaterThan(15);
  expect(blocks.every(({ text: one }) => one.length <= 1_000_000 && one.endsWith('of it'))).toBe(true);
});
